#include "damper/engine/event.h"

#include <gtest/gtest.h>

#include <set>

namespace damper::engine {
namespace {

TEST(Event, TheWordIsTheEnumerator) {
  EXPECT_EQ(name(EventKind::first_failure), "first_failure");
  EXPECT_EQ(name(EventKind::budget_exhausted), "budget_exhausted");
  EXPECT_EQ(name(EventKind::breaker_half_open), "breaker_half_open");
  EXPECT_EQ(name(EventKind::policy_reloaded), "policy_reloaded");
}

TEST(Event, EveryWordIsDifferent) {
  EXPECT_EQ(std::set(kEventNames.begin(), kEventNames.end()).size(), kEventNames.size());
}

}  // namespace
}  // namespace damper::engine
