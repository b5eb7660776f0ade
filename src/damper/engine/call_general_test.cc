#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

// The general path of a call: its policy has more than a breaker and a budget. It shares little
// code with the short path, so what both must do is tested here as well.

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;

class Recorder final : public EventSink {
 public:
  void on_event(const Event& event) noexcept override {
    text += text.empty() ? "" : " ";
    text += name(event.kind);
    length = event.length;
  }
  [[nodiscard]] std::string take() { return std::exchange(text, {}); }

  std::string text;
  Duration length{0};  // of the last event
};

// A breaker that opens at the first failure, for 500 ms at a draw of 0, with one probe.
Policy with_breaker() {
  Policy policy = scripted_policy();
  policy.call.max_attempts = 1;
  policy.call.per_try_timeout = 800ms;  // The general path.
  policy.breaker.emplace();
  policy.breaker->consecutive_failures = 1;
  policy.breaker->open_base = 1s;
  policy.breaker->probes = 1;
  policy.breaker->ramp = Duration{0};
  return policy;
}

TEST(CallGeneral, TheBreakersTransitionsAreEvents) {
  Dependency dependency("test", with_breaker());
  Recorder events;
  dependency.report_to(&events);
  EXPECT_EQ(Player(dependency, kRead, 0).play("t"), "send attempts_spent");
  EXPECT_EQ(events.take(), "breaker_opened first_failure");
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 100ms), "breaker_open");
  EXPECT_EQ(events.take(), "");
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 500ms), "send success");
  EXPECT_EQ(events.take(), "breaker_half_open breaker_closed");
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 600ms), "send success");
  EXPECT_EQ(events.take(), "");
}

TEST(CallGeneral, AProbeKeepsItsLeaseUntilItsOutcome) {
  Dependency dependency("test", with_breaker());
  EXPECT_EQ(Player(dependency, kRead, 0).play("t"), "send attempts_spent");
  Call probe(dependency, kRead);
  probe.start(kStart + 500ms, 0);
  ASSERT_TRUE(probe.step().sends);
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 500ms), "breaker_open");
  probe.on_success(0, kStart + 510ms);
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 510ms), "send success");
}

TEST(CallGeneral, AProbeThatTheLimitRefusesGivesItsLeaseBack) {
  Policy policy = with_breaker();
  policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  Dependency dependency("test", policy);
  EXPECT_EQ(Player(dependency, kRead, 0).play("t"), "send attempts_spent");
  ASSERT_TRUE(dependency.limit().try_acquire());
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 500ms), "limited");
  dependency.limit().release_ignored();
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 500ms), "send success");
}

TEST(CallGeneral, ARefusalOfTheThrottleGivesThePlaceOfTheLimitBack) {
  Policy policy = scripted_policy();
  policy.limit = {.kind = admit::LimitKind::fixed, .initial = 3};
  policy.throttle.emplace();
  policy.throttle->minimum_volume = 1;
  Dependency dependency("test", policy);
  for (int i = 0; i < 9; ++i) dependency.throttle().on_reject(kStart);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Player(dependency, kRead, 0).play("."), "throttled");
  EXPECT_EQ(dependency.limit().in_flight(), 0);
}

TEST(CallGeneral, ASuccessAfterFailuresIsARecoveryWithoutABudgetThatIsSpent) {
  for (const bool general : {false, true}) {
    Policy policy = scripted_policy();
    policy.call.max_attempts = 1;
    if (general) policy.call.per_try_timeout = 800ms;
    Dependency dependency("test", policy);
    Recorder events;
    dependency.report_to(&events);
    for (int i = 0; i < 10; ++i) (void)Player(dependency, kRead).play("t");
    EXPECT_EQ(events.take(), "first_failure repeated_failure");
    (void)Player(dependency, kRead).play(".");
    EXPECT_EQ(events.take(), "recovered");
    for (int i = 0; i < 9; ++i) (void)Player(dependency, kRead).play("t");
    EXPECT_EQ(events.take(), "");  // The row begins anew.
  }
}

// A success that is slow trips it, and the draw of start() decides for how long.
TEST(CallGeneral, ASlowSuccessOpensTheBreakerForTheDrawOfItsStart) {
  for (const bool general : {false, true}) {
    Policy policy = with_breaker();
    if (!general) policy.call.per_try_timeout = Duration{0};
    policy.breaker->slow_call_duration = 10ms;
    policy.breaker->slow_call_rate = Percent(100);
    policy.breaker->minimum_volume = 1;
    Dependency dependency("test", policy);
    Call call(dependency, kRead);
    call.start(kStart, 0.5);
    call.on_success(0, kStart + 20ms);
    EXPECT_EQ(dependency.breaker().open_for(kStart + 20ms), 750ms);
    EXPECT_FALSE(call.step().sends);
    EXPECT_EQ(call.step().verdict, Verdict::success);
  }
}

TEST(CallGeneral, ACancelledProbeGivesItsLeaseBack) {
  Dependency dependency("test", with_breaker());
  EXPECT_EQ(Player(dependency, kRead, 0).play("t"), "send attempts_spent");
  Call probe(dependency, kRead);
  probe.start(kStart + 500ms, 0);
  ASSERT_TRUE(probe.step().sends);
  probe.on_cancel(kStart + 510ms);
  EXPECT_EQ(Player(dependency, kRead, 0).play(".", kStart + 510ms), "send success");
}

TEST(CallGeneral, AFailureThatOpensTheBreakerEndsTheCallWithoutAWait) {
  Policy policy = with_breaker();
  policy.call.max_attempts = 3;
  Dependency dependency("test", policy);
  EXPECT_EQ(Player(dependency, kRead).play("t"), "send breaker_open");
}

TEST(CallGeneral, APolicyWithoutABreakerNeverReportsOne) {
  for (const bool general : {false, true}) {
    Policy policy = scripted_policy();
    policy.call.max_attempts = 1;
    if (general) policy.call.per_try_timeout = 800ms;
    Dependency dependency("test", policy);
    Recorder events;
    dependency.report_to(&events);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(Player(dependency, kRead).play("t"), "send attempts_spent");
    }
    EXPECT_EQ(events.take(), "first_failure repeated_failure repeated_failure");
  }
}

TEST(CallGeneral, AThrottleThatRefusesNothingLetsARetryPass) {
  Policy policy = scripted_policy();
  policy.throttle.emplace();
  Dependency dependency("test", policy);
  EXPECT_EQ(Player(dependency, kRead).play("t."), "send wait12 send success");
}

TEST(CallGeneral, ACancelledCallIsNeitherARequestNorAnAcceptOfTheThrottle) {
  Policy policy = scripted_policy();
  policy.call.max_attempts = 1;
  policy.throttle.emplace();
  policy.throttle->minimum_volume = 1;
  Dependency dependency("test", policy);
  for (int i = 0; i < 3; ++i) {
    Call call(dependency, kRead);
    call.start(kStart, 0.99);
    call.on_cancel(kStart);
  }
  for (int i = 0; i < 3; ++i) (void)Player(dependency, kRead, 0.99).play("t");
  EXPECT_EQ(dependency.throttle().reject_probability(kStart), 0.75);  // 3 of 4.
}

// Four calls at once, of a limit of four that grows by one for a full window.
TEST(CallGeneral, OnlyAnswersAreSamplesOfTheLimit) {
  const auto limit_after = [](Outcome outcome) {
    Policy policy = scripted_policy();
    policy.call.max_attempts = 1;
    policy.limit = {.kind = admit::LimitKind::aimd, .initial = 4, .window_samples = 4};
    Dependency dependency("test", policy);
    std::vector<std::unique_ptr<Call>> calls;
    calls.reserve(4);
    for (int i = 0; i < 4; ++i) {
      calls.push_back(std::make_unique<Call>(dependency, kRead));
      calls.back()->start(kStart, 0.5);
    }
    for (const auto& call : calls) {
      if (outcome == Outcome::cancelled) {
        call->on_cancel(kStart + 10ms);
      } else {
        call->on_outcome(0, {.outcome = outcome}, kStart + 10ms, 0.5);
      }
    }
    EXPECT_EQ(dependency.limit().in_flight(), 0);
    return dependency.limit().limit();
  };
  EXPECT_EQ(limit_after(Outcome::success), 5);
  EXPECT_EQ(limit_after(Outcome::permanent), 5);  // An answer.
  EXPECT_EQ(limit_after(Outcome::transient), 4);
  EXPECT_EQ(limit_after(Outcome::cancelled), 4);
  EXPECT_EQ(limit_after(Outcome::overload), 2);  // 2.8
  EXPECT_EQ(limit_after(Outcome::timeout), 2);
}

TEST(CallGeneral, APermanentAnswerIsNoFailureAndNoSuccess) {
  Policy policy = scripted_policy();
  policy.call.max_attempts = 1;
  Dependency dependency("test", policy);
  Recorder events;
  dependency.report_to(&events);
  for (int i = 0; i < 9; ++i) (void)Player(dependency, kRead).play("t");
  (void)Player(dependency, kRead).play("p");
  EXPECT_EQ(events.take(), "first_failure");
  (void)Player(dependency, kRead).play("t");
  EXPECT_EQ(events.take(), "repeated_failure");  // The tenth in a row.
}

TEST(CallGeneral, ACallThatIsCancelledBeforeItsStartHasNoAttempt) {
  Dependency dependency("test", scripted_policy());
  Call call(dependency, kRead);
  call.on_cancel(kStart);
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
  EXPECT_EQ(dependency.tally().started, 1u);
  EXPECT_EQ(dependency.tally().finished, 1u);
  EXPECT_EQ(dependency.tally().attempts, 0u);
}

TEST(CallGeneral, ARequestThatIsNotIdempotentHangsUntilItsDeadlineHasPassed) {
  for (const CallOptions& options : {CallOptions{}, kRead}) {
    Dependency dependency("test", scripted_policy());
    Call call(dependency, options);
    call.start(kStart, 0.5);
    call.on_timer(kStart + 1s, 0.5);
    EXPECT_EQ(call.step().verdict, Verdict::deadline_passed);
    EXPECT_EQ(call.step().wake, kNever);
    EXPECT_EQ(call.step().cancels, 1);
  }
}

TEST(CallGeneral, ARetryIsCountedByTheOutcomeThatItFollows) {
  Dependency dependency("test", scripted_policy());
  (void)Player(dependency, kRead).play("u.");
  (void)Player(dependency, kRead).play("t.");
  EXPECT_EQ(dependency.tally().retries_for(Outcome::unavailable), 1u);
  EXPECT_EQ(dependency.tally().retries_for(Outcome::transient), 1u);
}

TEST(CallGeneral, WhatIsRetryableFollowsAReload) {
  Policy policy = scripted_policy();
  Dependency dependency("test", policy);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  policy.call.retryable = {};
  dependency.reload(policy, kStart);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 1ms, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::not_retryable);
}

TEST(CallGeneral, ABackoffThatGrowsIsAnEventWithItsWait) {
  Dependency dependency("test", scripted_policy());
  Recorder events;
  dependency.report_to(&events);
  EXPECT_EQ(Player(dependency, kRead).play("tt."), "send wait12 send wait25 send success");
  EXPECT_EQ(events.take(), "first_failure backoff_growing");
  EXPECT_EQ(events.length, 25ms);
}

TEST(CallGeneral, WhoOwnsRetriesAndWhoMayHedge) {
  Policy policy = scripted_policy();
  Dependency dependency("test", policy);
  EXPECT_TRUE(Call(dependency, {}).owns_unsent());
  EXPECT_FALSE(Call(dependency, {.request = {.owned_above = true}}).owns_unsent());
  EXPECT_FALSE(Call(dependency, {.request = {.unsent_owned_above = true}}).owns_unsent());
  EXPECT_FALSE(Call(dependency, kRead).may_hedge());  // The policy has no hedges.

  policy.call.hedge.max_hedges = 1;
  dependency.reload(policy, kStart);
  EXPECT_TRUE(Call(dependency, kRead).may_hedge());
  const CallOptions rereads = {.request = {.idempotent = true, .safe = true, .rereads = true}};
  EXPECT_FALSE(Call(dependency, rereads).may_hedge());

  policy.call.hedge.max_hedges = 0;
  policy.call.max_attempts = 1;  // A layer that never retries owns no retries.
  dependency.reload(policy, kStart);
  EXPECT_FALSE(Call(dependency, kRead).owns_retries());
  EXPECT_FALSE(Call(dependency, kRead).owns_unsent());
}

}  // namespace
}  // namespace damper::engine
