#include "damper/run/scope.h"

#include <gtest/gtest.h>

#include "damper/run/inherited.h"

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

TEST(Scope, WhatARequestSaysIsTakenAsItIs) {
  const Inherited quiet{.deadline = schedule::Deadline(Instant{9s})};
  const Inherited owned{.deadline = schedule::Deadline(Instant{5s}),
                        .owned_above = {.retries = true, .unsent = true},
                        .retry_owner = "edge",
                        .attempt = 2};
  EXPECT_EQ(Scope::inherited(), nullptr);
  const Scope outer(owned);
  EXPECT_TRUE(Scope::owned_above());
  {
    const Scope resumed(quiet);  // Another coroutine, which nobody above retries.
    EXPECT_EQ(Scope::deadline().at(), Instant{9s});
    EXPECT_FALSE(Scope::owned_above());
    EXPECT_FALSE(Scope::unsent_owned_above());
    EXPECT_EQ(Scope::inherited(), &quiet);
  }
  EXPECT_EQ(Scope::inherited(), &owned);
  EXPECT_TRUE(Scope::unsent_owned_above());
}

TEST(Scope, AGuardedCallBetweenLeavesWhatTheRequestSays) {
  const Inherited owned{.retry_owner = "edge"};
  const Scope request(owned);
  const Scope attempt(schedule::Deadline(Instant{5s}), {.retries = true});
  ASSERT_NE(Scope::inherited(), nullptr);
  EXPECT_EQ(Scope::inherited()->retry_owner, "edge");
  EXPECT_EQ(Scope::deadline().at(), Instant{5s});
}

TEST(Scope, OutsideLeavesTheInnermostAsFarAsTheyAreMeant) {
  const Inherited outer{.deadline = schedule::Deadline(Instant{9s})};
  const Inherited inner{.deadline = schedule::Deadline(Instant{5s})};
  const Scope first(outer);
  const Scope second(inner);
  const Scope again(inner);
  {
    const Scope::Outside outside(inner);
    EXPECT_EQ(Scope::deadline().at(), Instant{9s});
  }
  EXPECT_EQ(Scope::deadline().at(), Instant{5s});
  const Scope::Outside not_meant(outer);
  EXPECT_EQ(Scope::deadline().at(), Instant{5s});
}

}  // namespace
}  // namespace damper::run
