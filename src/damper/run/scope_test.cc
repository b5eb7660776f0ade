#include "damper/run/scope.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/run/blocking.h"

namespace damper::run {
namespace {

using namespace std::chrono_literals;

TEST(Scope, OutsideOfEveryCallThereIsNoDeadlineAndNoOwner) {
  EXPECT_EQ(Scope::deadline(), schedule::Deadline());
  EXPECT_FALSE(Scope::owned_above());
}

TEST(Scope, TheInnermostSaysTheDeadlineAndAnyOfThemOwns) {
  const Scope outer(schedule::Deadline(Instant{9s}), {.retries = true, .unsent = true}, {});
  {
    const Scope inner(schedule::Deadline(Instant{5s}), {}, {});
    EXPECT_EQ(Scope::deadline().at(), Instant{5s});
    EXPECT_TRUE(Scope::owned_above());
  }
  EXPECT_EQ(Scope::deadline().at(), Instant{9s});
}

TEST(Scope, WhoIsNotIdempotentStillOwnsWhatNeverLeft) {
  const Scope outer(schedule::Deadline(), {.retries = false, .unsent = true}, {});
  EXPECT_FALSE(Scope::owned_above());
  EXPECT_TRUE(Scope::unsent_owned_above());
}

TEST(Scope, WhatARequestSaysIsTakenAsItIs) {
  const RequestContext quiet{.deadline = schedule::Deadline(Instant{9s})};
  const RequestContext owned{.deadline = schedule::Deadline(Instant{5s}),
                             .owned_above = {.retries = true, .unsent = true},
                             .retry_owner = "edge",
                             .attempt = 2};
  EXPECT_EQ(Scope::context(), nullptr);
  const Scope outer(owned);
  EXPECT_TRUE(Scope::owned_above());
  {
    const Scope resumed(quiet);  // Another coroutine, which nobody above retries.
    EXPECT_EQ(Scope::deadline().at(), Instant{9s});
    EXPECT_FALSE(Scope::owned_above());
    EXPECT_FALSE(Scope::unsent_owned_above());
    EXPECT_EQ(Scope::context(), &quiet);
  }
  EXPECT_EQ(Scope::context(), &owned);
  EXPECT_TRUE(Scope::unsent_owned_above());
}

TEST(Scope, AGuardedCallBetweenLeavesWhatTheRequestSays) {
  const RequestContext owned{.retry_owner = "edge"};
  const Scope request(owned);
  const Scope attempt(schedule::Deadline(Instant{5s}), {.retries = true}, {});
  ASSERT_NE(Scope::context(), nullptr);
  EXPECT_EQ(Scope::context()->retry_owner, "edge");
  EXPECT_EQ(Scope::deadline().at(), Instant{5s});
}

TEST(Scope, WhoRetriesIsKnownByNameHoweverDeep) {
  const std::string billing = "billing";
  const std::string ledger = "ledger";
  EXPECT_EQ(Scope::retry_owner(), "");
  EXPECT_EQ(Scope::retry_attempt(), 1u);
  const Scope once(schedule::Deadline(), {}, {.name = &ledger, .attempt = 1});
  EXPECT_EQ(Scope::retry_owner(), "");  // It does not retry.
  const Scope owner(schedule::Deadline(), {.retries = true}, {.name = &billing, .attempt = 2});
  EXPECT_EQ(Scope::retry_owner(), "billing");
  const Scope inside(schedule::Deadline(), {}, {.name = &ledger, .attempt = 1});
  EXPECT_EQ(Scope::retry_owner(), "billing");
  EXPECT_EQ(Scope::retry_attempt(), 2u);
  const RequestContext nobody{};
  const Scope request(nobody);  // Another request: nobody retries it.
  EXPECT_EQ(Scope::retry_owner(), "");
}

TEST(Scope, WhoRetriesARequestIsWhoItSays) {
  const std::string ledger = "ledger";
  const RequestContext edge{.owned_above = {.retries = true}, .retry_owner = "edge", .attempt = 3};
  const Scope request(edge);
  const Scope inside(schedule::Deadline(), {}, {.name = &ledger, .attempt = 1});
  EXPECT_EQ(Scope::retry_owner(), "edge");
  EXPECT_EQ(Scope::retry_attempt(), 3u);
}

TEST(Scope, AnOwnerWithoutANameThatCanBeSentIsDamper) {
  const std::string odd = "not a name";
  {
    const Scope scope(schedule::Deadline(), {.retries = true}, {.name = &odd, .attempt = 2});
    EXPECT_EQ(Scope::retry_owner(), "damper");
    EXPECT_EQ(Scope::retry_attempt(), 2u);
  }
  {
    const Scope scope(schedule::Deadline(), {.retries = true}, {});
    EXPECT_EQ(Scope::retry_owner(), "damper");
  }
  const RequestContext unsaid{.owned_above = {.retries = true}};
  const Scope request(unsaid);
  EXPECT_EQ(Scope::retry_owner(), "damper");
}

TEST(Scope, WhatIsTakenAlongSaysAllOfIt) {
  const std::string billing = "billing";
  const RequestContext shed{.criticality = admit::Criticality::sheddable};
  const Scope request(shed);
  const Scope owner(schedule::Deadline(Instant{5s}), {.retries = true, .unsent = true},
                    {.name = &billing, .attempt = 2});
  const RequestContext along = Scope::take_along();
  EXPECT_EQ(along.deadline.at(), Instant{5s});
  EXPECT_TRUE(along.owned_above.retries);
  EXPECT_TRUE(along.owned_above.unsent);
  EXPECT_EQ(along.retry_owner, "billing");
  EXPECT_EQ(along.attempt, 2u);
  EXPECT_EQ(along.criticality, admit::Criticality::sheddable);
}

TEST(Scope, ADeadlineIsAStrangersIfTheRequestsOwnIsTheEarliest) {
  EXPECT_FALSE(engine_options({}).from_stranger);
  for (const bool stranger : {false, true}) {
    const RequestContext context{.deadline = schedule::Deadline(Instant{5s}),
                                 .from_stranger = stranger};
    const Scope request(context);
    EXPECT_EQ(engine_options({}).from_stranger, stranger);
    EXPECT_EQ(engine_options({.deadline = Instant{6s}}).from_stranger, stranger);
    EXPECT_FALSE(engine_options({.deadline = Instant{4s}}).from_stranger);  // The program's own.
    EXPECT_EQ(Scope::take_along().from_stranger, stranger);
    const Scope same(schedule::Deadline(Instant{5s}), {.retries = true, .unsent = true});
    EXPECT_EQ(engine_options({}).from_stranger, stranger);
    const Scope attempt(schedule::Deadline(Instant{4s}), {.retries = true, .unsent = true});
    EXPECT_FALSE(engine_options({}).from_stranger);
    EXPECT_FALSE(Scope::take_along().from_stranger);
  }
}

TEST(Scope, OutsideLeavesTheInnermostAsFarAsTheyAreMeant) {
  const RequestContext outer{.deadline = schedule::Deadline(Instant{9s})};
  const RequestContext inner{.deadline = schedule::Deadline(Instant{5s})};
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
