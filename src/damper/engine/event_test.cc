#include "damper/engine/event.h"

#include <gtest/gtest.h>

namespace damper::engine {
namespace {

enum class Other : std::uint8_t { begun };
constexpr std::string_view name(Other /*kind*/) { return "begun"; }

TEST(Event, TheNameIsTheEnumerators) {
  EXPECT_EQ(name(EventKind::first_failure), "first_failure");
  EXPECT_EQ(name(EventKind::parked), "parked");
}

TEST(Event, AnotherModulesEnumIsAnEventName) {
  const Event event{.kind = Other::begun, .key = "proxy"};
  EXPECT_EQ(name(event.kind), "begun");
  EXPECT_EQ(event.kind, Other::begun);
  EXPECT_FALSE(event.kind == EventKind::parked);
}

}  // namespace
}  // namespace damper::engine
