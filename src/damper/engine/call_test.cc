#include "damper/engine/call.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;
constexpr CallOptions kRepeatable = {.request = {.idempotent = true}};

std::string play(const Policy& policy, std::string_view script, CallOptions options = kRepeatable) {
  Dependency dependency("test", policy);
  return Player(dependency, options).play(script);
}

TEST(Call, ASuccessIsOneAttempt) { EXPECT_EQ(play(scripted_policy(), "."), "send success"); }

TEST(Call, TransientFailuresAreRetriedWithBackoff) {
  EXPECT_EQ(play(scripted_policy(), "tt."), "send wait12 send wait25 send success");
  EXPECT_EQ(play(scripted_policy(), "u."), "send wait12 send success");
  EXPECT_EQ(play(scripted_policy(), "T."), "send wait12 send success");
}

TEST(Call, AttemptsAreCapped) {
  EXPECT_EQ(play(scripted_policy(), "ttt"), "send wait12 send wait25 send attempts_spent");
  Policy once = scripted_policy();
  once.call.max_attempts = 1;
  EXPECT_EQ(play(once, "t"), "send attempts_spent");
}

TEST(Call, WhatCannotChangeIsNotRetried) {
  EXPECT_EQ(play(scripted_policy(), "p"), "send permanent");
  EXPECT_EQ(play(scripted_policy(), "c"), "send conflict");
  EXPECT_EQ(play(scripted_policy(), "tp"), "send wait12 send permanent");
}

TEST(Call, AConflictIsRetriedOnlyByWhoReadsAgain) {
  EXPECT_EQ(play(scripted_policy(), "cc.", {.request = {.rereads = true}}),
            "send wait12 send wait25 send success");
  EXPECT_EQ(play(scripted_policy(), "t.", {.request = {.rereads = true}}), "send not_idempotent");
}

TEST(Call, AnUnsafeRequestIsRepeatedOnlyIfItNeverLeft) {
  EXPECT_EQ(play(scripted_policy(), "t.", {}), "send not_idempotent");
  EXPECT_EQ(play(scripted_policy(), "T.", {}), "send not_idempotent");
  EXPECT_EQ(play(scripted_policy(), "u.", {}), "send wait12 send success");
}

TEST(Call, OneLayerRetries) {
  Dependency dependency("test", scripted_policy());
  Player player(dependency, {.request = {.idempotent = true, .owned_above = true}});
  EXPECT_EQ(player.play("t."), "send layered");
  EXPECT_EQ(dependency.tally().of(Verdict::layered), 1u);
  EXPECT_FALSE(player.call().owns_retries());
  EXPECT_TRUE(Call(dependency, kRepeatable).owns_retries());
  EXPECT_FALSE(Call(dependency, {}).owns_retries());
  EXPECT_TRUE(Call(dependency, {.request = {.rereads = true}}).owns_retries());
}

TEST(Call, OverloadIsNotRetriedUnlessTheServerSaysWhen) {
  EXPECT_EQ(play(scripted_policy(), "o."), "send overload");
  EXPECT_EQ(play(scripted_policy(), "o+100."), "send wait112 send success");
}

TEST(Call, APushbackThatSaysNotAgainIsObeyed) {
  EXPECT_EQ(play(scripted_policy(), "t!."), "send pushed_back");
}

// Invariant (2). The configured cap (250 ms) does not shorten what the server asked for.
TEST(Call, TrapA1_NeverEarlierThanTheServerSaid) {
  EXPECT_EQ(play(scripted_policy(), "t+600."), "send wait612 send success");
  for (const double draw : {0.0, 0.5, kLargestDraw}) {
    Dependency dependency("test", scripted_policy());
    Player player(dependency, kRepeatable, draw);
    (void)player.play("o+300.");
    EXPECT_GE(player.now(), kStart + 300ms);  // Trap A4: jitter is added, never subtracted.
  }
}

TEST(Call, TrapA4_JitterIsOnlyEverAddedToWhatTheServerSaid) {
  Dependency dependency("test", scripted_policy());
  Player player(dependency, kRepeatable, 0.0);
  EXPECT_EQ(player.play("o+300."), "send wait300 send success");
}

TEST(Call, TrapA2_ARetryAfterPastTheDeadlineEndsTheCallNow) {
  Dependency dependency("test", scripted_policy());
  Player player(dependency);
  EXPECT_EQ(player.play("t5+1000."), "send deadline_too_close");
  EXPECT_EQ(player.now(), kStart + 5ms);  // Not waited out.
  EXPECT_EQ(play(scripted_policy(), "o+99999999999."), "send deadline_too_close");
}

TEST(Call, TrapA5_ABackoffLongerThanTheRemainingTimeEndsTheCall) {
  Policy slow = scripted_policy();
  slow.call.backoff = {.jitter = schedule::Jitter::none, .base = 2s, .cap = 2s};
  EXPECT_EQ(play(slow, "t."), "send deadline_too_close");
}

TEST(Call, AnAttemptThatCannotFinishIsNotStarted) {
  Policy needs = scripted_policy();
  needs.call.needed = 30ms;
  EXPECT_EQ(play(needs, ".", {.deadline = schedule::Deadline(kStart + 30ms)}), "send success");
  EXPECT_EQ(play(needs, ".", {.deadline = schedule::Deadline(kStart + 30ms - 1ns)}),
            "deadline_too_close");
}

TEST(Call, TrapD3_ADeadlineThatHasPassedReachesNoBackendAndIsCounted) {
  Dependency dependency("test", scripted_policy());
  Player player(dependency, {.deadline = schedule::Deadline(kStart)});
  EXPECT_EQ(player.play("."), "deadline_passed");
  EXPECT_EQ(dependency.tally().of(Verdict::deadline_passed), 1u);
  EXPECT_EQ(dependency.tally().attempts, 0u);
  EXPECT_EQ(dependency.budget().balance(kStart), 100.0);  // Not sent: nothing was deposited.
}

TEST(Call, TrapD1_TheTimeoutCountsFromTheFirstByte) {
  EXPECT_EQ(play(scripted_policy(), ".", {.arrived = kStart - 1s}), "deadline_passed");
  Dependency dependency("test", scripted_policy());
  Call call(dependency, {.arrived = kStart - 900ms});
  call.start(kStart, 0.5);
  EXPECT_EQ(call.step().attempt.deadline, kStart + 100ms);
}

TEST(Call, TrapD2_EachAttemptIsGivenWhatIsLeftLessTheReserve) {
  Policy reserving = scripted_policy();
  reserving.call.reserve = 100ms;
  Dependency dependency("test", reserving);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  Step step = call.step();
  EXPECT_EQ(step.attempt.deadline - step.attempt.sent, 900ms);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 300ms, 0.0);
  step = call.step();
  EXPECT_EQ(step.wake, kStart + 300ms);
  call.on_timer(kStart + 300ms, 0.5);
  step = call.step();
  EXPECT_EQ(step.attempt.number, 2u);
  EXPECT_EQ(step.attempt.deadline - step.attempt.sent, 600ms);
}

TEST(Call, AnAttemptHasItsOwnTimeoutAndIsRetriedAfterIt) {
  Policy tries = scripted_policy();
  tries.call.per_try_timeout = 100ms;
  EXPECT_EQ(play(tries, ".300.20"), "send cancel0 wait12 send success");
  EXPECT_EQ(play(tries, ".300.300.300"),
            "send cancel0 wait12 send cancel0 wait25 send cancel0 attempts_spent");
  EXPECT_EQ(play(tries, ".300", {}), "send cancel0 not_idempotent");
}

TEST(Call, TheDeadlineEndsTheCallInMidAttempt) {  // Invariant (1).
  Dependency dependency("test", scripted_policy());
  Player player(dependency);
  EXPECT_EQ(player.play(".2000"), "send cancel0 deadline_passed");
  EXPECT_EQ(player.now(), kStart + 1s);
}

TEST(Call, ATimeoutReportedAtTheDeadlineIsTheSameVerdict) {
  EXPECT_EQ(play(scripted_policy(), "T1000"), "send deadline_passed");
}

TEST(Call, TheBudgetIsAskedLastAndARefusalCostsNothing) {
  Policy poor = scripted_policy();
  poor.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", poor);
  EXPECT_EQ(Player(dependency).play("tt."), "send wait12 send budget_spent");
  EXPECT_EQ(Player(dependency).play("t."), "send budget_spent");
  EXPECT_EQ(dependency.tally().budget_refusals, 2u);
  EXPECT_EQ(Player(dependency).play("p"), "send permanent");  // Not even asked.
  EXPECT_EQ(dependency.tally().budget_refusals, 2u);
}

TEST(Call, TrapK1_TheSwitchIsReadAtEveryDecision) {
  Dependency dependency("test", scripted_policy());
  dependency.switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(Player(dependency).play("t."), "send switched_off");
  EXPECT_EQ(Player(dependency).play("."), "send success");  // First attempts go.
  EXPECT_EQ(dependency.tally().of(Verdict::switched_off), 1u);
}

TEST(Call, TrapK1_TheSwitchReachesCallsThatWaitInABackoff) {  // Invariants (2) and (3).
  Policy one = scripted_policy();
  one.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", one);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  const Step waiting = call.step();
  EXPECT_EQ(dependency.budget().balance(kStart), 0.0);
  call.on_timer(kStart + 1ms, 0.5);
  EXPECT_EQ(call.step().wake, waiting.wake);  // Woken for nothing: waits on.

  dependency.switches().set(admit::Switch::retries, {.off = true});
  call.on_timer(kStart + 2ms, 0.5);
  const Step step = call.step();
  EXPECT_EQ(step.verdict, Verdict::switched_off);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);  // What it had paid came back.
}

TEST(Call, ACancelledWaitGivesItsPaymentBack) {  // Invariant (3).
  Policy one = scripted_policy();
  one.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", one);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  call.on_cancel(kStart + 1ms);
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

Policy with_breaker() {
  Policy p = scripted_policy();
  p.breaker.emplace().consecutive_failures = 3;
  return p;
}

TEST(Call, AnOpenBreakerRefusesTheFirstAttemptAndTheRetry) {
  Dependency dependency("test", with_breaker());
  EXPECT_EQ(Player(dependency).play("ttt"), "send wait12 send wait25 send attempts_spent");
  EXPECT_EQ(dependency.breaker().state(kStart + 40ms), admit::BreakerState::open);
  EXPECT_EQ(Player(dependency).play(".", kStart + 50ms), "breaker_open");
  EXPECT_EQ(dependency.tally().attempts, 3u);
}

TEST(Call, ABreakerThatOpensMeanwhileEndsTheRetryAndItsPaymentComesBack) {
  Policy p = with_breaker();
  p.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", p);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  const Step waiting = call.step();
  for (int i = 0; i < 2; ++i) (void)Player(dependency, {}).play("t");
  call.on_timer(waiting.wake, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::breaker_open);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
}

TEST(Call, AnAttemptCancelledByItsCallerIsNoVerdictForTheBreaker) {
  Dependency dependency("test", with_breaker());
  for (int i = 0; i < 20; ++i) {
    Call call(dependency, {});
    call.start(kStart, 0.5);
    call.on_cancel(kStart);
    EXPECT_EQ(call.step().cancels, 1);
  }
  EXPECT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
}

TEST(Call, AHungDependencyTripsTheBreakerThroughTheDeadline) {
  Dependency dependency("test", with_breaker());
  for (int i = 0; i < 3; ++i) (void)Player(dependency, {}).play(".5000");
  EXPECT_EQ(dependency.breaker().state(kStart + 1s), admit::BreakerState::open);
}

TEST(Call, TrapC4_ABreakerThatADeadlineTripsIsJitteredToo) {
  std::vector<Duration> open_for;
  for (const double draw : {0.1, 0.5, 0.9}) {
    Policy p = with_breaker();
    p.breaker->consecutive_failures = 1;
    Dependency dependency("test", p);
    (void)Player(dependency, {}, draw).play(".5000");
    open_for.push_back(dependency.breaker().open_for(kStart + 1s));
  }
  EXPECT_EQ(open_for, (std::vector<Duration>{550ms, 750ms, 950ms}));
}

TEST(Call, OurOwnRefusalsAndCancelsDoNotFeedTheThrottle) {
  Policy p = scripted_policy();
  p.throttle.emplace();
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", p);
  for (int i = 0; i < 100; ++i) {  // One in three is accepted, the others are cancelled.
    Call leader(dependency, {});
    leader.start(kStart, 0.0);
    ASSERT_TRUE(leader.step().sends);
    for (int j = 0; j < 5; ++j) EXPECT_EQ(Player(dependency, {}, 0.0).play("."), "limited");
    i % 3 != 0 ? leader.on_cancel(kStart) : leader.on_success(0, kStart);
  }
  EXPECT_EQ(dependency.throttle().reject_probability(kStart), 0.0);
}

TEST(Call, TheConcurrencyLimitBoundsAttemptsAndIsReleasedByEachOfThem) {
  Policy limited = scripted_policy();
  limited.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", limited);
  Call first(dependency, kRepeatable);
  first.start(kStart, 0.5);
  EXPECT_EQ(Player(dependency).play("."), "limited");
  first.on_cancel(kStart);
  for (const char* script : {".", "tt.", "p", "o", ".2000", "ttt"}) {  // Invariant (4).
    (void)Player(dependency).play(script);
    EXPECT_EQ(dependency.limit().in_flight(), 0) << script;
  }
}

TEST(Call, AProbeThatTheLimitRefusesGivesItsLeaseBack) {  // Invariant (4).
  Policy p = with_breaker();
  p.breaker->probes = 1;
  p.breaker->open_base = p.breaker->open_cap = 1s;
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", p);
  (void)Player(dependency).play("ttt", kStart - 5s);
  ASSERT_TRUE(dependency.limit().try_acquire());  // Somebody else has the one place.
  EXPECT_EQ(Player(dependency, {}).play("."), "limited");
  dependency.limit().release_ignored();
  EXPECT_EQ(Player(dependency, {}).play("."), "send success");  // The probe's place is free.
}

TEST(Call, ACallThatIsWokenTooLateIsNotSent) {
  Policy needs = scripted_policy();
  needs.call.needed = 100ms;
  needs.budget = {.percent = Percent(0), .reserve = 1};
  Dependency dependency("test", needs);
  Call call(dependency, kRepeatable);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  call.on_timer(kStart + 901ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::deadline_too_close);
  EXPECT_EQ(dependency.budget().balance(kStart), 1.0);
}

TEST(Call, ACallThatIsGivenUpBeforeItBeganCostsNothing) {
  Dependency dependency("test", scripted_policy());
  Call call(dependency, kRepeatable);
  call.on_cancel(kStart);
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
  EXPECT_EQ(dependency.tally().of(Verdict::cancelled), 1u);
  EXPECT_EQ(dependency.tally().attempts, 0u);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
  EXPECT_EQ(dependency.budget().balance(kStart), 100.0);
}

TEST(Call, WhatTheDependencyAnswersCountsAsAcceptedForTheThrottle) {
  Policy throttled = scripted_policy();
  throttled.throttle.emplace();
  Dependency dependency("test", throttled);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Player(dependency, {}, 0.0).play(i % 2 == 0 ? "." : "p"),
              i % 2 == 0 ? "send success" : "send permanent");
  }
  EXPECT_EQ(dependency.throttle().reject_probability(kStart), 0.0);
}

TEST(Call, ThrottleRefusesWhenTheDependencyRejectsTooMuch) {
  Policy throttled = scripted_policy();
  throttled.throttle.emplace();
  Dependency dependency("test", throttled);
  int refused = 0;
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    Player player(dependency, {}, random.draw());
    refused += player.play("t") == "throttled" ? 1 : 0;
  }
  EXPECT_GT(refused, 150);
}

TEST(Call, AReloadReachesTheNextDecisionOfACallThatHasStartedButNotItsDeadline) {
  Dependency dependency("test", scripted_policy());
  Call one(dependency, kRepeatable);
  Call two(dependency, kRepeatable);
  one.start(kStart, 0.5);
  two.start(kStart, 0.5);
  one.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  EXPECT_FALSE(one.step().over());
  Policy once = scripted_policy();
  once.call.max_attempts = 1;
  once.call.timeout = 1ms;
  dependency.reload(once, kStart);
  two.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  EXPECT_EQ(two.step().verdict, Verdict::attempts_spent);
  one.on_timer(kStart + 13ms, 0.5);
  EXPECT_TRUE(one.step().sends);  // It was admitted before.
  EXPECT_EQ(one.deadline().at(), kStart + 1s);
  one.on_cancel(kStart);
}

TEST(Call, IsSmall) { EXPECT_LE(sizeof(Call), 512u); }

}  // namespace
}  // namespace damper::engine
