#include "damper/engine/delivery/endpoint_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "damper/base/random.h"

namespace damper::engine {
namespace {

using admit::BreakerState;
using admit::TokenBucket;
using admit::Transition;
using decide::Outcome;
using decide::Report;
using std::chrono::hours, std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr Instant kStart{hours(1)};

[[nodiscard]] const DeliveryPolicy& defaults() {
  static const DeliveryPolicy kPolicy;
  return kPolicy;
}

// One attempt with this outcome; nothing: it was held.
std::optional<EndpointGate::Effect> attempt(EndpointGate& gate, const Report& report, Instant now) {
  const auto ticket = gate.try_start(now, 0.5);
  if (!ticket) return std::nullopt;
  return gate.on_outcome(*ticket, report, now, 0.5);
}

void fail_until_open(EndpointGate& gate, Instant now) {
  for (int i = 0; i < 100; ++i) {
    const auto effect = attempt(gate, {.outcome = Outcome::unavailable}, now);
    if (effect && effect->transition == Transition::opened) return;
  }
  FAIL() << "it did not open";
}

TEST(EndpointGate, ConcurrencyGrowsWithSuccessesAndTimeoutsHalveIt) {
  EndpointGate gate(defaults(), {});
  EXPECT_EQ(gate.room(kStart).attempts, EndpointGate::kFirstConcurrency);
  for (int i = 0; i < 100; ++i) (void)attempt(gate, {}, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 16);
  for (int i = 0; i < 4; ++i) (void)attempt(gate, {.outcome = Outcome::timeout}, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 1);
  const auto ticket = gate.try_start(kStart, 0.5);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(gate.room(kStart).held_for, Verdict::limited);
  EXPECT_FALSE(gate.try_start(kStart, 0.5));
  gate.on_unsent(*ticket, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 1);
}

TEST(EndpointGate, AServersRetryTimeHoldsAllDeliveries) {
  EndpointGate gate(defaults(), {});
  const auto effect =
      attempt(gate, {.outcome = Outcome::overload, .retry_after = minutes(3)}, kStart);
  EXPECT_TRUE(effect->state_changed);
  const auto room = gate.room(kStart + minutes(3) - Duration{1});
  EXPECT_EQ(room.attempts, 0);
  EXPECT_EQ(room.held_for, Verdict::pushed_back);
  EXPECT_EQ(room.until, kStart + minutes(3));
  EXPECT_FALSE(gate.try_start(kStart + minutes(2), 0.5));
  EXPECT_TRUE(gate.try_start(kStart + minutes(3), 0.5));
  // An earlier time does not shorten it.
  EndpointGate other(defaults(), {});
  const auto first = other.try_start(kStart, 0.5);
  const auto second = other.try_start(kStart, 0.5);
  (void)other.on_outcome(*first, {.outcome = Outcome::overload, .retry_after = minutes(3)}, kStart,
                         0.5);
  (void)other.on_outcome(*second, {.outcome = Outcome::overload, .retry_after = seconds(1)}, kStart,
                         0.5);
  EXPECT_EQ(other.room(kStart).until, kStart + minutes(3));
}

TEST(EndpointGate, ADeadEndpointIsProbedOneAtATimeAndMoreAndMoreRarely) {
  EndpointGate gate(defaults(), {});
  Instant now = kStart;
  fail_until_open(gate, now);
  Random random(3);
  int attempts = 0;
  for (; now < kStart + hours(1); now += milliseconds(100)) {
    const auto ticket = gate.try_start(now, random.draw());
    if (!ticket) continue;
    ++attempts;
    EXPECT_FALSE(gate.try_start(now, random.draw())) << "two probes at once";
    (void)gate.on_outcome(*ticket, {.outcome = Outcome::timeout}, now, random.draw());
  }
  EXPECT_LT(attempts, 30);
  EXPECT_GT(attempts, 10);
}

// As a dispatcher with a backlog does: it starts what it may, at once and after each end.
TEST(EndpointGate, ABacklogRampsUpAfterARecovery) {
  EndpointGate gate(defaults(), {});
  fail_until_open(gate, kStart);
  Instant now = kStart + minutes(1);
  ASSERT_EQ(attempt(gate, {}, now)->transition, Transition::closed);
  Random random(11);
  std::vector<int> starts;  // in each 500 ms
  for (int part = 0; part < 6; ++part) {
    starts.push_back(0);
    for (int ms = 0; ms < 500; ++ms, now += milliseconds(1)) {
      std::vector<EndpointGate::Ticket> in_flight;  // each takes a millisecond
      while (gate.room(now).attempts > 0) {
        const auto ticket = gate.try_start(now, random.draw());
        if (ticket) in_flight.push_back(*ticket);
      }
      starts.back() += static_cast<int>(in_flight.size());
      for (const auto& ticket : in_flight) {
        (void)gate.on_outcome(ticket, {}, now + milliseconds(1), random.draw());
      }
    }
  }
  EXPECT_LT(starts[0], 20);
  EXPECT_LT(starts[1], 50);
  EXPECT_LT(starts[0] + starts[1], starts[2] + starts[3]);
  EXPECT_GT(starts[4], 5'000) << "the ramp is over";
}

TEST(EndpointGate, AMessageThatIsRefusedAloneDoesNotOpenTheBreaker) {
  EndpointGate gate(defaults(), {});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(attempt(gate, {.outcome = Outcome::permanent}, kStart + milliseconds(i)));
  }
  EXPECT_EQ(gate.breaker_state(kStart + seconds(2)), BreakerState::closed);
}

TEST(EndpointGate, ProbesOfAllEndpointsOfAHostHaveARate) {
  TokenBucket host({.rate_per_second = 2, .burst = 1});
  TokenBucket all({.rate_per_second = 100, .burst = 10});
  std::vector<std::unique_ptr<EndpointGate>> gates;
  for (int i = 0; i < 100; ++i) {
    gates.push_back(
        std::make_unique<EndpointGate>(defaults(), EndpointGate::ProbeRates{&host, &all}));
    fail_until_open(*gates.back(), kStart);
  }
  Random random(5);
  int probes = 0;
  const Duration length = minutes(1);
  for (Instant now = kStart; now < kStart + length; now += milliseconds(10)) {
    for (const auto& gate : gates) {
      const auto ticket = gate->try_start(now, random.draw());
      if (!ticket) continue;
      ++probes;
      (void)gate->on_outcome(*ticket, {.outcome = Outcome::unavailable}, now, random.draw());
    }
  }
  EXPECT_LE(probes, 121);
  EXPECT_GT(probes, 90);
}

TEST(EndpointGate, HeldByTheProbeRateItSaysWhen) {
  TokenBucket all({.rate_per_second = 1, .burst = 1});
  EndpointGate gate(defaults(), {nullptr, &all});
  fail_until_open(gate, kStart);
  const Instant later = kStart + minutes(1);
  ASSERT_TRUE(all.try_take(later));
  const auto room = gate.room(later);
  EXPECT_EQ(room.held_for, Verdict::breaker_open);
  EXPECT_EQ(room.until, later + seconds(1));
  EXPECT_FALSE(gate.try_start(later, 0.5));
  EXPECT_TRUE(gate.try_start(later + seconds(1), 0.5));
}

TEST(EndpointGate, TheRateBoundsAttempts) {
  DeliveryPolicy policy;
  policy.rate = {.rate_per_second = 10, .burst = 3};
  EndpointGate gate(policy, {});
  int started = 0;
  for (int i = 0; i < 10; ++i) started += attempt(gate, {}, kStart) ? 1 : 0;
  EXPECT_EQ(started, 3);
  EXPECT_EQ(gate.room(kStart).held_for, Verdict::rate_limited);
  EXPECT_EQ(gate.room(kStart).until, kStart + milliseconds(100));
}

TEST(EndpointGate, FailuresAloneForDaysDisableTheEndpoint) {
  EndpointGate gate(defaults(), {});
  EXPECT_TRUE(attempt(gate, {.outcome = Outcome::permanent}, kStart)->state_changed);
  EXPECT_FALSE(attempt(gate, {.outcome = Outcome::permanent}, kStart + hours(119))->disable);
  EXPECT_TRUE(attempt(gate, {.outcome = Outcome::permanent}, kStart + hours(120))->disable);
  EXPECT_TRUE(attempt(gate, {}, kStart + hours(120))->state_changed);
  EXPECT_FALSE(attempt(gate, {.outcome = Outcome::permanent}, kStart + hours(121))->disable);
}

TEST(EndpointGate, ARestartKeepsTheOpenTimeTheHoldAndTheFailures) {
  EndpointGate before(defaults(), {});
  fail_until_open(before, kStart);
  const Instant open_until = before.room(kStart).until;
  EndpointGate after(defaults(), {});
  after.restore(before.state());
  EXPECT_EQ(after.breaker_state(kStart), BreakerState::open);
  EXPECT_EQ(after.room(kStart).until, open_until);
  EXPECT_FALSE(after.is_healthy());
  // The next trip is longer than the first one.
  const auto ticket = after.try_start(open_until, 0.5);
  ASSERT_TRUE(ticket);
  (void)after.on_outcome(*ticket, {.outcome = Outcome::unavailable}, open_until, 0.5);
  EXPECT_GT(after.room(open_until).until - open_until, open_until - kStart);
  EndpointGate healthy(defaults(), {});
  healthy.restore({});
  EXPECT_EQ(healthy.breaker_state(kStart), BreakerState::closed);
}

// Two processes send to one endpoint: one of them finds out, and both know.
TEST(EndpointGate, TheStateOfAnotherProcessIsAdopted) {
  EndpointGate first(defaults(), {});
  EndpointGate second(defaults(), {});
  fail_until_open(first, kStart);
  const auto before = second.try_start(kStart, 0.5);
  ASSERT_TRUE(before);
  second.adopt(first.state(), kStart);
  EXPECT_EQ(second.breaker_state(kStart), BreakerState::open);
  EXPECT_EQ(second.blocked_until(kStart), first.blocked_until(kStart));
  // What was in flight says nothing of the time after the trip.
  (void)second.on_outcome(*before, {}, kStart, 0.5);
  EXPECT_EQ(second.breaker_state(kStart), BreakerState::open);
  const Instant later = first.blocked_until(kStart);
  EXPECT_EQ(second.breaker_state(later), BreakerState::half_open);
  const auto probe = attempt(first, {}, later);
  ASSERT_TRUE(probe);
  ASSERT_EQ(probe->transition, Transition::closed);
  second.adopt(first.state(), later);
  EXPECT_EQ(second.breaker_state(later), BreakerState::closed);
  EXPECT_GT(second.room(later).attempts, 0);
}

TEST(EndpointGate, AnUnsentProbeReturnsItsLease) {
  EndpointGate gate(defaults(), {});
  fail_until_open(gate, kStart);
  const Instant later = kStart + minutes(1);
  const auto ticket = gate.try_start(later, 0.5);
  ASSERT_TRUE(ticket);
  gate.on_unsent(*ticket, later);
  EXPECT_TRUE(gate.try_start(later, 0.5));
}

TEST(EndpointGate, AResetForgetsTheFailuresAndTheHold) {
  EndpointGate gate(defaults(), {});
  (void)attempt(gate, {.outcome = Outcome::overload, .retry_after = minutes(3)}, kStart);
  gate.reset(kStart);
  EXPECT_GT(gate.room(kStart).attempts, 0);
  fail_until_open(gate, kStart + minutes(3));
  gate.reset(kStart + minutes(3));
  EXPECT_GT(gate.room(kStart + minutes(3)).attempts, 0);
  EXPECT_EQ(gate.breaker_state(kStart + minutes(3)), BreakerState::closed);
  EXPECT_EQ(gate.state().failing_since, std::nullopt);
}

TEST(EndpointGate, AReloadKeepsTheStateAndTakesTheNewBounds) {
  EndpointGate gate(defaults(), {});
  fail_until_open(gate, kStart);
  DeliveryPolicy policy;
  policy.concurrency = 1;
  policy.rate = {.rate_per_second = 1, .burst = 1};
  gate.reload(policy, kStart);
  EXPECT_EQ(gate.breaker_state(kStart), BreakerState::open);
  EXPECT_EQ(gate.room(kStart + minutes(1)).attempts, 1);
}

TEST(EndpointGate, AReloadTakesTheNewConcurrency) {
  EndpointGate gate(defaults(), {});
  for (int i = 0; i < 20; ++i) (void)attempt(gate, {}, kStart);
  DeliveryPolicy narrow;
  narrow.concurrency = 3;
  gate.reload(narrow, kStart);
  EXPECT_EQ(&gate.policy(), &narrow);
  EXPECT_EQ(gate.room(kStart).attempts, 3);
  gate.reload(defaults(), kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 3);  // More have to be earned.
  for (int i = 0; i < 2; ++i) (void)attempt(gate, {.outcome = Outcome::timeout}, kStart);
  gate.reload(defaults(), kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 1);
}

TEST(EndpointGate, AReloadTakesTheNewBreaker) {
  EndpointGate gate(defaults(), {});
  DeliveryPolicy hasty;
  hasty.breaker.consecutive_failures = 1;
  gate.reload(hasty, kStart);
  EXPECT_EQ(attempt(gate, {.outcome = Outcome::unavailable}, kStart)->transition,
            Transition::opened);
}

TEST(EndpointGate, AReloadAddsChangesAndRemovesTheRate) {
  EndpointGate gate(defaults(), {});
  DeliveryPolicy fast, slow;
  fast.rate = {.rate_per_second = 10, .burst = 2};
  slow.rate = {.rate_per_second = 5, .burst = 2};
  gate.reload(fast, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 2);
  for (int i = 0; i < 2; ++i) (void)attempt(gate, {}, kStart);
  EXPECT_EQ(gate.room(kStart).until, kStart + milliseconds(100));
  gate.reload(slow, kStart);  // The fill stays.
  EXPECT_EQ(gate.room(kStart).held_for, Verdict::rate_limited);
  EXPECT_EQ(gate.room(kStart).until, kStart + milliseconds(200));
  gate.reload(defaults(), kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 6);
}

TEST(EndpointGate, TheRoomIsTheLeastOfConcurrencyAndTokens) {
  DeliveryPolicy policy;
  policy.rate = {.rate_per_second = 1, .burst = 10};
  EndpointGate gate(policy, {});
  EXPECT_EQ(gate.room(kStart).attempts, 4);
  ASSERT_TRUE(gate.try_start(kStart, 0.5));
  EXPECT_EQ(gate.room(kStart).attempts, 3);
  policy.rate->burst = 2;
  EXPECT_EQ(EndpointGate(policy, {}).room(kStart).attempts, 2);
}

TEST(EndpointGate, EachSuccessAllowsOneMoreAndOnlyATimeoutHalves) {
  EndpointGate gate(defaults(), {});
  (void)attempt(gate, {}, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 5);
  (void)attempt(gate, {.outcome = Outcome::unavailable}, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 5);
  for (int i = 0; i < 20; ++i) (void)attempt(gate, {}, kStart);
  (void)attempt(gate, {.outcome = Outcome::timeout}, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 8);
}

TEST(EndpointGate, OpenItHasNoRoomAndHalfOpenItHasRoomForOneProbe) {
  EndpointGate gate(defaults(), {});
  EXPECT_LT(gate.blocked_until(kStart), kStart);  // By nothing.
  fail_until_open(gate, kStart);
  EXPECT_EQ(gate.room(kStart).attempts, 0);
  const Instant later = gate.room(kStart).until;
  EXPECT_EQ(gate.blocked_until(kStart), later);
  EXPECT_EQ(gate.room(later).attempts, 1);
  const auto probe = gate.try_start(later, 0.5);
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->half_opened);
  const auto room = gate.room(later);
  EXPECT_EQ(room.attempts, 0);
  EXPECT_EQ(room.held_for, Verdict::breaker_open);
  EXPECT_EQ(room.until, later + defaults().timeout);
}

TEST(EndpointGate, WhileTheBreakerRampsTheDrawDecides) {
  EndpointGate gate(defaults(), {});
  fail_until_open(gate, kStart);
  const Instant later = gate.room(kStart).until;
  ASSERT_EQ(attempt(gate, {}, later)->transition, Transition::closed);
  EXPECT_FALSE(gate.try_start(later, 0.999));
  EXPECT_EQ(gate.in_flight(), 0);
  EXPECT_FALSE(gate.try_start(later, 0)) << "not at once after a refusal";
  EXPECT_TRUE(gate.try_start(later + EndpointGate::kRampPause, 0));
}

TEST(EndpointGate, ASlowSuccessIsSlowToTheBreaker) {
  DeliveryPolicy policy;
  policy.breaker.slow_call_duration = seconds(1);
  policy.breaker.slow_call_rate = Percent(50);
  policy.breaker.minimum_volume = 1;
  EndpointGate gate(policy, {});
  const auto ticket = gate.try_start(kStart, 0.5);
  ASSERT_TRUE(ticket);
  EXPECT_EQ(gate.on_outcome(*ticket, {}, kStart + seconds(2), 0.5).transition, Transition::opened);
}

TEST(EndpointGate, OnlyProbesTakeTokensOfTheProbeRates) {
  TokenBucket host({.rate_per_second = 1, .burst = 2});
  TokenBucket all({.rate_per_second = 1, .burst = 2});
  EndpointGate gate(defaults(), {&host, &all});
  fail_until_open(gate, kStart);
  EXPECT_EQ(host.balance(kStart), 2);
  EXPECT_EQ(all.balance(kStart), 2);
  const Instant later = gate.room(kStart).until;
  ASSERT_TRUE(attempt(gate, {}, later));
  EXPECT_EQ(host.balance(later), 1);
  EXPECT_EQ(all.balance(later), 1);
}

// After up to 2, 4, ... times the wait; no later than kLongestTurn after the token.
TEST(EndpointGate, TheMoreOftenItFindsNoProbeTokenTheLaterItAsksAgain) {
  TokenBucket all({.rate_per_second = 1, .burst = 1});
  EndpointGate gate(defaults(), {nullptr, &all});
  fail_until_open(gate, kStart);
  const Instant later = kStart + minutes(1);
  ASSERT_TRUE(all.try_take(later));
  const Instant token = later + seconds(1);
  EXPECT_EQ(gate.room(later).until, token);
  double draw = 0.5;  // Of the last outcome.
  for (const Duration longest : {seconds(2), seconds(4), seconds(5), seconds(5)}) {
    draw = another_draw(draw);
    const auto turn = static_cast<std::int64_t>(static_cast<double>(longest.count()) * draw);
    EXPECT_EQ(gate.room(later).until, token + Duration{turn});
  }
  for (int i = 0; i < 50; ++i) {
    const Instant until = gate.room(later).until;
    EXPECT_GE(until, token);
    EXPECT_LE(until, token + EndpointGate::kLongestTurn);
  }
  // A probe starts the count again.
  ASSERT_TRUE(attempt(gate, {.outcome = Outcome::unavailable}, token));
  const Instant again = gate.room(token).until;
  ASSERT_TRUE(all.try_take(again));
  EXPECT_EQ(gate.room(again).until, again + seconds(1));
}

TEST(EndpointGate, AnOutcomeThatSaysNothingOfTheEndpointChangesNothing) {
  for (const Report& report : {Report{.outcome = Outcome::cancelled},
                               Report{.outcome = Outcome::transient, .unknown = true}}) {
    DeliveryPolicy policy;
    policy.breaker.consecutive_failures = 1;
    EndpointGate gate(policy, {});
    (void)attempt(gate, {}, kStart);
    const auto effect = attempt(gate, report, kStart);
    ASSERT_TRUE(effect);
    EXPECT_FALSE(effect->state_changed);
    EXPECT_EQ(gate.in_flight(), 0);
    EXPECT_TRUE(gate.is_healthy());
    EXPECT_EQ(gate.state().failing_since, std::nullopt);
    EXPECT_EQ(gate.breaker_state(kStart), BreakerState::closed);
  }
}

TEST(EndpointGate, WithoutATimeNothingDisablesTheEndpoint) {
  DeliveryPolicy policy;
  policy.disable_after = Duration{0};
  EndpointGate gate(policy, {});
  for (const Duration age : {hours(0), hours(1000)}) {
    EXPECT_FALSE(attempt(gate, {.outcome = Outcome::permanent}, kStart + age)->disable);
  }
}

TEST(EndpointGate, OnlyAFailureWithARetryTimeHolds) {
  EndpointGate gate(defaults(), {});
  (void)attempt(gate, {.outcome = Outcome::success, .retry_after = minutes(3)}, kStart);
  (void)attempt(gate, {.outcome = Outcome::transient}, kStart);
  EXPECT_EQ(gate.state().blocked_until, Instant::min());
}

TEST(EndpointGate, ItSaysWhenItsStateHasChanged) {
  DeliveryPolicy policy;
  policy.breaker.consecutive_failures = 5;
  EndpointGate gate(policy, {});
  const auto first = gate.try_start(kStart, 0.5);
  const auto second = gate.try_start(kStart, 0.5);
  const Report failure{.outcome = Outcome::unavailable};
  const Report hold{.outcome = Outcome::overload, .retry_after = minutes(3)};
  EXPECT_FALSE(attempt(gate, {}, kStart)->state_changed);
  EXPECT_TRUE(attempt(gate, failure, kStart)->state_changed);  // It fails since now.
  EXPECT_FALSE(attempt(gate, failure, kStart)->state_changed);
  EXPECT_TRUE(gate.on_outcome(*first, hold, kStart, 0.5).state_changed);
  EXPECT_FALSE(gate.on_outcome(*second, hold, kStart, 0.5).state_changed);  // The same hold.
  const auto effect = attempt(gate, failure, kStart + minutes(3));
  EXPECT_EQ(effect->transition, Transition::opened);
  EXPECT_TRUE(effect->state_changed);
}

TEST(EndpointGate, ARestartKeepsTheRetryTimeAndTheFirstFailure) {
  EndpointGate before(defaults(), {});
  (void)attempt(before, {.outcome = Outcome::overload, .retry_after = minutes(3)}, kStart);
  EndpointGate after(defaults(), {});
  after.restore(before.state());
  EXPECT_EQ(after.room(kStart).until, kStart + minutes(3));
  EXPECT_EQ(after.state().failing_since, kStart);
}

TEST(EndpointGate, OfTwoProcessesTheLaterRetryTimeAndTheOthersFailuresCount) {
  EndpointGate gate(defaults(), {});
  (void)attempt(gate, {.outcome = Outcome::overload, .retry_after = minutes(3)}, kStart);
  gate.adopt({.blocked_until = kStart + minutes(1), .failing_since = kStart - hours(1)}, kStart);
  EXPECT_EQ(gate.room(kStart).until, kStart + minutes(3));
  EXPECT_EQ(gate.state().failing_since, kStart - hours(1));
  gate.adopt({.blocked_until = kStart + minutes(5)}, kStart);
  EXPECT_EQ(gate.room(kStart).until, kStart + minutes(5));
}

TEST(EndpointGate, AnAdoptedStateWithoutTripsIsClosedAndKeepsTheCounts) {
  DeliveryPolicy policy;
  policy.breaker.consecutive_failures = 2;
  EndpointGate gate(policy, {});
  (void)attempt(gate, {.outcome = Outcome::unavailable}, kStart);
  gate.adopt({}, kStart);  // Both are closed: what it counted still holds.
  EXPECT_EQ(attempt(gate, {.outcome = Outcome::unavailable}, kStart)->transition,
            Transition::opened);
  gate.adopt({.breaker = {.trips = 0, .open_until = kStart + minutes(1)}}, kStart);
  EXPECT_EQ(gate.breaker_state(kStart), BreakerState::closed);
}

}  // namespace
}  // namespace damper::engine
