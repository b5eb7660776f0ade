#include "damper/run/scope.h"

#include <gtest/gtest.h>

namespace damper::run {
namespace {

using namespace std::chrono_literals;

TEST(Scope, OutsideOfEveryCallThereIsNoDeadlineAndNoOwner) {
  EXPECT_EQ(Scope::deadline(), schedule::Deadline());
  EXPECT_FALSE(Scope::owned_above());
}

TEST(Scope, TheInnermostSaysTheDeadlineAndAnyOfThemOwns) {
  const Scope outer(schedule::Deadline(Instant{9s}), true);
  {
    const Scope inner(schedule::Deadline(Instant{5s}), false);
    EXPECT_EQ(Scope::deadline().at(), Instant{5s});
    EXPECT_TRUE(Scope::owned_above());
  }
  EXPECT_EQ(Scope::deadline().at(), Instant{9s});
}

}  // namespace
}  // namespace damper::run
