#include "damper/engine/dependency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "damper/engine/call.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

class Recorder final : public EventSink {
 public:
  void on_event(const Event& event) noexcept override {
    events.push_back(std::string(event.key) + " " + std::string(name(event.kind)));
    last_detail = event.detail;
    last_length = event.length;
    last_count = event.count;
  }
  std::vector<std::string> events;
  std::string last_detail;
  Duration last_length{0};
  std::int64_t last_count = 0;
};

Verdict attempt(Dependency& dependency, Outcome outcome, Instant now) {
  Call call(dependency, {.request = {.idempotent = true}});
  call.start(now, 0.0);
  if (!call.step().over()) call.on_outcome(0, {.outcome = outcome}, now, 0.0);
  if (!call.step().over()) call.on_cancel(now);
  return call.step().verdict;
}

TEST(Dependency, OneLineForATransitionNotForARequest) {  // Invariant (2).
  Policy policy;
  policy.budget = {.percent = Percent(10), .reserve = 1};
  policy.call.max_attempts = 2;
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  for (int i = 0; i < 100; ++i) (void)attempt(dependency, Outcome::success, Instant{1s});
  EXPECT_TRUE(recorder.events.empty());

  while (dependency.budget().try_withdraw(Instant{1s})) {
  }
  for (int i = 0; i < 100; ++i) (void)attempt(dependency, Outcome::transient, Instant{1s});
  EXPECT_EQ(recorder.events,
            (std::vector<std::string>{"billing first_failure", "billing budget_exhausted",
                                      "billing repeated_failure", "billing repeated_failure"}));

  recorder.events.clear();
  for (int i = 0; i < 100; ++i) (void)attempt(dependency, Outcome::success, Instant{20s});
  EXPECT_EQ(recorder.events,
            (std::vector<std::string>{"billing recovered", "billing budget_refilled"}));
}

TEST(Dependency, AReloadReachesEveryPart) {
  const Instant now{1000s};
  Policy policy;
  policy.call.hedge = {.max_hedges = 1, .ratio = Percent(10)};
  policy.breaker.emplace();
  policy.throttle = admit::ClientThrottleOptions{.minimum_volume = 1};
  policy.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::fixed, .initial = 9};
  Dependency dependency("billing", policy);
  for (int i = 0; i < 100; ++i) {
    dependency.hedge_budget().on_request(now);
    i < 25 ? dependency.throttle().on_accept(now) : dependency.throttle().on_reject(now);
  }
  const double retries = dependency.budget().balance(now);
  const double hedges = dependency.hedge_budget().balance(now);
  const double rejects = dependency.throttle().reject_probability(now);
  EXPECT_GT(rejects, 0);

  policy.call.hedge.ratio = Percent(5);
  policy.budget.percent = Percent(20);
  policy.throttle->multiplier = Percent(400);
  policy.limit->max = 4;
  policy.limit->initial = 4;
  policy.breaker->consecutive_failures = 1;
  dependency.reload(policy, now);
  EXPECT_NE(dependency.budget().balance(now), retries);
  EXPECT_LT(dependency.hedge_budget().balance(now), hedges);
  EXPECT_EQ(dependency.throttle().reject_probability(now), 0);
  EXPECT_EQ(dependency.limit().limit(), 4);
  const admit::BreakerPermit permit = dependency.breaker().try_admit(now, 0);
  EXPECT_EQ(dependency.breaker().on_failure(permit, 1ms, now, 0), admit::Transition::opened);
}

// One and a half times the timeout of an attempt; then a probe without a result is a failed one.
TEST(Dependency, TheLeaseOfAProbeIsDerivedFromTheTimeoutOfAnAttempt) {
  const Instant now{1000s};
  Policy policy;
  policy.call.timeout = 4s;
  policy.call.max_attempts = 1;
  policy.breaker.emplace();
  policy.breaker->consecutive_failures = 1;
  policy.breaker->probes = 1;
  policy.breaker->open_base = 1s;
  policy.breaker->open_cap = 1s;
  const auto lease = [&](const Policy& with) {
    Dependency dependency("billing", with);
    Recorder recorder;
    (void)attempt(dependency, Outcome::transient, now);  // Open for 500 ms.
    Call probe(dependency, {});
    probe.start(now + 500ms, 0);
    EXPECT_FALSE(probe.step().over());
    dependency.report_to(&recorder);
    for (Duration passed{0}; passed < 60s; passed += 100ms) {
      EXPECT_EQ(attempt(dependency, Outcome::success, now + 500ms + passed), Verdict::breaker_open);
      if (recorder.events.empty()) continue;
      EXPECT_EQ(recorder.events, (std::vector<std::string>{"billing breaker_opened"}));
      probe.on_cancel(now + 60s);
      return passed;
    }
    return Duration{0};
  };
  EXPECT_EQ(lease(policy), 6s);
  policy.call.per_try_timeout = 2s;
  EXPECT_EQ(lease(policy), 3s);
  policy.call.per_try_timeout = Duration{0};
  policy.call.adaptive_timeout.on = true;
  policy.call.adaptive_timeout.upper = 2s;
  EXPECT_EQ(lease(policy), 3s);
  policy.breaker->probe_lease = 5s;  // Configured.
  EXPECT_EQ(lease(policy), 5s);
}

TEST(Dependency, ABudgetThatIsSpentAsFastAsItFillsIsStillSpent) {
  Policy policy;
  policy.budget = {.percent = Percent(10), .reserve = 0};
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  for (int i = 0; i < 1'000; ++i) (void)attempt(dependency, Outcome::success, Instant{1s});
  while (dependency.budget().try_withdraw(Instant{1s})) {
  }
  for (int i = 0; i < 1'000; ++i) {  // Half fail, each wants a retry: far more than a tenth.
    (void)attempt(dependency, i % 2 == 0 ? Outcome::success : Outcome::transient, Instant{1s});
    (void)dependency.budget().try_withdraw(Instant{1s});
  }
  EXPECT_EQ(std::count(recorder.events.begin(), recorder.events.end(), "billing budget_exhausted"),
            1);
  EXPECT_EQ(std::count(recorder.events.begin(), recorder.events.end(), "billing budget_refilled"),
            0);
}

TEST(Dependency, ABudgetIsRefilledOnceHalfOfItIsLeft) {
  Policy policy;
  policy.budget = {.percent = Percent(50), .reserve = 0};
  Dependency dependency("billing", policy);
  Recorder recorder;
  for (int i = 0; i < 4; ++i) (void)attempt(dependency, Outcome::success, Instant{1s});
  while (dependency.budget().try_withdraw(Instant{1s})) {
  }
  EXPECT_EQ(attempt(dependency, Outcome::transient, Instant{1s}), Verdict::budget_spent);
  (void)attempt(dependency, Outcome::success, Instant{1s});
  dependency.report_to(&recorder);
  (void)attempt(dependency, Outcome::success, Instant{1s});  // 3.5 earned, 2 spent.
  EXPECT_TRUE(recorder.events.empty());
  (void)attempt(dependency, Outcome::success, Instant{1s});  // 4 earned.
  EXPECT_EQ(recorder.events, (std::vector<std::string>{"billing budget_refilled"}));
}

TEST(Dependency, TheSecondRetryOfACallIsAnEventOnceInAWhile) {
  Policy policy;
  policy.budget = {.percent = Percent(1000), .reserve = 100};
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 100ms, .cap = 1s};
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  for (int i = 0; i < 3; ++i) {
    Call call(dependency, {.request = {.idempotent = true}});
    call.start(Instant{1s}, 0.0);
    call.on_outcome(0, {.outcome = Outcome::transient}, Instant{1s}, 0.0);
    call.on_timer(Instant{1100ms}, 0.0);
    call.on_outcome(0, {.outcome = Outcome::transient}, Instant{1100ms}, 0.0);
    call.on_cancel(Instant{1200ms});
  }
  EXPECT_EQ(std::count(recorder.events.begin(), recorder.events.end(), "billing backoff_growing"),
            1);
}

TEST(Dependency, BreakerTransitionsAreReportedOnceEach) {  // Invariant (2).
  Policy policy;
  policy.breaker = admit::CircuitBreakerOptions{
      .consecutive_failures = 3, .open_base = 1s, .open_cap = 1s, .probes = 1};
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  for (int i = 0; i < 5; ++i) (void)attempt(dependency, Outcome::transient, Instant{1s});
  EXPECT_EQ(recorder.events.back(), "billing breaker_opened");
  EXPECT_EQ(recorder.last_length, 500ms);  // Half of a second and more, for a draw of 0.
  EXPECT_EQ(recorder.last_count, 0);
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1s}), Verdict::breaker_open);
  recorder.events.clear();
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{2s}), Verdict::success);
  EXPECT_EQ(recorder.events,
            (std::vector<std::string>{"billing breaker_half_open", "billing breaker_closed"}));
}

TEST(Dependency, AReloadResetsNothing) {  // Invariant (1).
  Policy policy;
  policy.breaker.emplace().consecutive_failures = 2;
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  for (int i = 0; i < 100; ++i) (void)attempt(dependency, Outcome::success, Instant{1s});
  for (int i = 0; i < 2; ++i) (void)attempt(dependency, Outcome::permanent, Instant{1s});
  for (int i = 0; i < 2; ++i) (void)attempt(dependency, Outcome::overload, Instant{1s});
  EXPECT_EQ(dependency.breaker().state(Instant{1s}), admit::BreakerState::open);
  const std::int64_t samples = dependency.latencies().samples(Instant{1s});
  const double fill = dependency.budget().fill(Instant{1s});

  policy.budget.percent = Percent(50);
  policy.breaker->consecutive_failures = 10;
  policy.call.max_attempts = 7;
  dependency.reload(policy, Instant{1s});
  EXPECT_EQ(dependency.policy().max_attempts, 7);
  EXPECT_EQ(dependency.breaker().state(Instant{1s}), admit::BreakerState::open);
  EXPECT_EQ(dependency.latencies().samples(Instant{1s}), samples);
  EXPECT_EQ(dependency.budget().fill(Instant{1s}), fill);
  EXPECT_EQ(dependency.tally().of(Verdict::permanent), 2u);
  EXPECT_EQ(recorder.events.back(), "billing policy_reloaded");
}

TEST(Dependency, AReloadCanTurnTheBreakerOffAndOn) {
  Policy policy;
  policy.breaker.emplace().consecutive_failures = 1;
  Dependency dependency("billing", policy);
  (void)attempt(dependency, Outcome::overload, Instant{1s});
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1s}), Verdict::breaker_open);
  dependency.reload({}, Instant{1s});
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1s}), Verdict::success);
  dependency.reload(policy, Instant{1s});
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1s}), Verdict::breaker_open);
}

TEST(Dependency, AFlipSaysWhichAndWhy) {
  Dependency dependency("billing");
  Recorder recorder;
  dependency.report_to(&recorder);
  dependency.flip(admit::Switch::retries,
                  {.off = true, .until = Instant{31min}, .reason = "db failover"}, Instant{1min});
  EXPECT_EQ(recorder.events, (std::vector<std::string>{"billing switch_flipped"}));
  EXPECT_EQ(recorder.last_detail, "retries off: db failover");
  EXPECT_EQ(recorder.last_length, 30min);
  EXPECT_EQ(attempt(dependency, Outcome::transient, Instant{2min}), Verdict::switched_off);
  dependency.flip(admit::Switch::retries, {.until = Instant{31min}}, Instant{3min});
  EXPECT_EQ(recorder.last_detail, "retries on");
  EXPECT_EQ(recorder.last_length, 0min);
}

TEST(Dependency, ABreakerForcedOpenRefusesCallsUntilItsExpiry) {
  Policy policy;
  policy.breaker.emplace().probes = 1;
  Dependency dependency("billing", policy);
  Recorder recorder;
  dependency.report_to(&recorder);
  const admit::BreakerForceSetting open{
      .force = admit::BreakerForce::open, .length = 10min, .reason = "db failover"};
  EXPECT_TRUE(dependency.force(open, Instant{1min}));
  EXPECT_EQ(recorder.events, (std::vector<std::string>{"billing breaker_forced"}));
  EXPECT_EQ(recorder.last_detail, "open: db failover");
  EXPECT_EQ(recorder.last_length, 10min);
  const Instant expiry{11min};
  EXPECT_EQ(attempt(dependency, Outcome::success, expiry - 1ns), Verdict::breaker_open);
  EXPECT_EQ(attempt(dependency, Outcome::success, expiry), Verdict::success);  // A probe.

  EXPECT_TRUE(dependency.force(open, Instant{20min}));
  EXPECT_TRUE(dependency.force({.reason = "over"}, Instant{21min}));
  EXPECT_EQ(recorder.last_detail, "reset: over");
  EXPECT_EQ(recorder.last_length, 0min);
  EXPECT_TRUE(dependency.force({}, Instant{21min}));
  EXPECT_EQ(recorder.last_detail, "reset");
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{21min}), Verdict::success);
}

// A breaker that is forced closed admits attempts; a switch that is off still refuses retries.
TEST(Dependency, ASwitchWinsOverABreakerForcedClosed) {
  Policy policy;
  policy.breaker.emplace().consecutive_failures = 1;
  Dependency dependency("billing", policy);
  const admit::BreakerForceSetting closed{.force = admit::BreakerForce::closed, .length = 10min};
  EXPECT_TRUE(dependency.force(closed, Instant{1min}));
  (void)attempt(dependency, Outcome::transient, Instant{2min});
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{2min}), Verdict::success);
  dependency.flip(admit::Switch::retries, {.off = true, .reason = "INC-42"}, Instant{3min});
  EXPECT_EQ(attempt(dependency, Outcome::transient, Instant{3min}), Verdict::switched_off);
}

TEST(Dependency, WithoutABreakerThereIsNothingToForce) {
  Dependency dependency("billing");
  Recorder recorder;
  dependency.report_to(&recorder);
  EXPECT_FALSE(dependency.force({.force = admit::BreakerForce::open}, Instant{1min}));
  EXPECT_TRUE(recorder.events.empty());
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1min}), Verdict::success);
}

TEST(Dependency, AForceReachesABreakerThatAReloadTookAwayOnlyAsAReset) {
  Policy policy;
  policy.breaker.emplace();
  const admit::BreakerForceSetting open{.force = admit::BreakerForce::open, .length = 10min};
  Dependency reset("billing", policy);
  EXPECT_TRUE(reset.force(open, Instant{1min}));
  reset.reload({}, Instant{1min});
  EXPECT_FALSE(reset.force({}, Instant{1min}));
  reset.reload(policy, Instant{1min});
  EXPECT_EQ(attempt(reset, Outcome::success, Instant{1min}), Verdict::success);

  Dependency dependency("billing");
  EXPECT_FALSE(dependency.force(open, Instant{1min}));
  dependency.reload(policy, Instant{1min});
  EXPECT_EQ(attempt(dependency, Outcome::success, Instant{1min}), Verdict::success);
}

TEST(Dependency, TheProcessCanSwitchEveryDependencyOff) {
  admit::Switches process;
  Dependency dependency("billing", {}, {.switches = &process});
  process.set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(attempt(dependency, Outcome::transient, Instant{2min}), Verdict::switched_off);
}

TEST(Dependency, ABudgetAboveHasToAgree) {
  admit::RetryBudget process({.percent = Percent(0), .reserve = 1});
  Dependency one("one", {}, {.budget = &process});
  Dependency two("two", {}, {.budget = &process});
  const auto taken = one.budget().try_withdraw(Instant{1s});
  EXPECT_TRUE(taken);
  EXPECT_EQ(attempt(two, Outcome::transient, Instant{1s}), Verdict::budget_spent);
}

}  // namespace
}  // namespace damper::engine
