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
  const Scope outer(schedule::Deadline(Instant{9s}), {.retries = true, .unsent = true});
  {
    const Scope inner(schedule::Deadline(Instant{5s}), {});
    EXPECT_EQ(Scope::deadline().at(), Instant{5s});
    EXPECT_TRUE(Scope::owned_above());
  }
  EXPECT_EQ(Scope::deadline().at(), Instant{9s});
}

TEST(Scope, WhoIsNotIdempotentStillOwnsWhatNeverLeft) {
  const Scope outer(schedule::Deadline(), {.retries = false, .unsent = true});
  EXPECT_FALSE(Scope::owned_above());
  EXPECT_TRUE(Scope::unsent_owned_above());
}

}  // namespace
}  // namespace damper::run
