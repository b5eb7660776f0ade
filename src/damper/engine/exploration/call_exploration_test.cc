#include "damper/engine/exploration/call_exploration_testing.h"

#include <gtest/gtest.h>

#include <chrono>

#include "damper/base/random.h"

// All histories of small calls: see docs/design/0029.

namespace damper::engine {
namespace {

using decide::Outcome;
using namespace std::chrono_literals;

// 60 ms for three attempts of at most 30 ms; retries wait for 10 and 20 ms. The slots of the
// windows are long, so a history is in one.
Exploration small_call() {
  Exploration e;
  e.policy.call.timeout = 60ms;
  e.policy.call.per_try_timeout = 30ms;
  e.policy.call.needed = 15ms;
  e.policy.call.max_attempts = 3;
  e.policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 10ms, .cap = 20ms};
  e.policy.budget = {
      .percent = Percent(100), .window = 1h, .reserve = 2, .min_retry_concurrency = 2};
  e.reports = {{.outcome = Outcome::success},
               {.outcome = Outcome::transient},
               {.outcome = Outcome::permanent},
               {.outcome = Outcome::overload, .retry_after = 20ms},
               {.outcome = Outcome::transient, .do_not_retry = true}};
  e.other = e.policy;
  e.other.call.max_attempts = 2;
  return e;
}

// Two hedges, 10 ms after the attempt before them.
Exploration hedged_call() {
  Exploration e = small_call();
  e.policy.call.hedge = {.max_hedges = 2,
                         .quantile = Percent(50),
                         .floor = 10ms,
                         .min_samples = 1,
                         .ratio = Percent(100)};
  e.other.call.hedge.ratio = Percent(100);
  return e;
}

admit::CircuitBreakerOptions breaker() {
  return {.consecutive_failures = 2,
          .window = 1h,
          .open_base = 20ms,
          .open_cap = 20ms,
          .probes = 1,
          .probe_lease = 50ms,
          .ramp = 0ms};
}

// The floor: an exploration that explores nothing fails.
void expect_sound(Exploration e, std::size_t least_states) {
  if (DAMPER_INSTRUMENTED != 0) e.most_states = 5'000;
  const Explored explored = CallExplorer(e).run();
  EXPECT_EQ(explored.counterexample, "");
  if (DAMPER_INSTRUMENTED != 0) return;
  EXPECT_TRUE(explored.complete);
  ::testing::Test::RecordProperty("transitions", static_cast<int>(explored.transitions));
  EXPECT_GE(explored.states, least_states);
}

TEST(CallExploration, Retries) { expect_sound(small_call(), 6'500); }

TEST(CallExploration, RetriesOnTheShortPath) {  // Terms::plain
  Exploration e = small_call();
  e.policy.call.per_try_timeout = e.other.call.per_try_timeout = 0ms;
  e.policy.breaker = breaker();
  e.other.call.max_attempts = 4;
  expect_sound(e, 8'000);
}

TEST(CallExploration, HedgesUnderALimit) {
  Exploration e = hedged_call();
  e.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 2};
  e.reports.pop_back();
  expect_sound(e, 100'000);
}

TEST(CallExploration, HedgesOnASpentBudget) {
  Exploration e = hedged_call();
  e.policy.budget.percent = e.other.budget.percent = Percent(0);
  e.policy.budget.reserve = e.other.budget.reserve = 1;
  expect_sound(e, 30'000);
}

TEST(CallExploration, AThrottleThatRefusesNothing) {
  Exploration e = hedged_call();
  e.policy.throttle = {.multiplier = Percent(100), .window = 1h, .minimum_volume = 1};
  while (another_draw(e.draw) < 0.95) e.draw = another_draw(e.draw);
  expect_sound(e, 12'000);
}

// It refuses nothing when the retry is planned, and after a reload when the retry is due.
TEST(CallExploration, AThrottleThatRefusesARetryThatWaited) {
  Exploration e = small_call();
  e.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 2};
  e.policy.throttle = {.multiplier = Percent(1000), .window = 1h, .minimum_volume = 1};
  e.other.throttle = {.multiplier = Percent(100), .window = 1h, .minimum_volume = 1};
  e.successes_before = 1;
  e.failures_before = 9;
  while (another_draw(e.draw) > 0.5) e.draw = another_draw(e.draw);
  expect_sound(e, 14'000);
}

// The probe's outcome is unknown, so the breaker stays half-open, and the retry is a probe, too.
TEST(CallExploration, ProbesOfAHalfOpenBreakerUnderALimit) {
  Exploration e = small_call();
  e.policy.breaker = breaker();
  e.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  e.reports.push_back({.outcome = Outcome::transient, .unknown = true});
  e.failures_before = 2;
  expect_sound(e, 6'500);
}

TEST(CallExploration, HedgesBesideABreaker) {
  Exploration e = hedged_call();
  e.policy.breaker = e.other.breaker = breaker();
  e.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 3};
  e.reports = {{.outcome = Outcome::success},
               {.outcome = Outcome::transient},
               {.outcome = Outcome::unavailable},
               {.outcome = Outcome::permanent, .unknown = true}};
  expect_sound(e, 65'000);
}

// A token every 20 ms, and none at the start: the first attempt waits for its token, and a retry
// after 10 ms, too. A neighbour under the limit refuses an attempt whose token is due.
TEST(CallExploration, AttemptsThatWaitForTheirTokenUnderALimit) {
  Exploration e = small_call();
  e.policy.attempt_rate = {.bucket = {.rate_per_second = 50, .burst = 1}, .max_wait = 20ms};
  e.other.attempt_rate = {.bucket = {.rate_per_second = 50, .burst = 1}, .max_wait = 50ms};
  e.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  e.successes_before = e.tokens_before = 1;
  expect_sound(e, 2'500);
}

// Two tokens for the first attempt and its hedge; a retry waits beside the hedge.
TEST(CallExploration, ARetryThatWaitsForItsTokenBesideAHedge) {
  Exploration e = hedged_call();
  e.policy.call.hedge.max_hedges = 1;
  e.policy.call.timeout = e.other.call.timeout = 50ms;
  e.policy.call.needed = e.other.call.needed = 5ms;
  e.policy.attempt_rate = {.bucket = {.rate_per_second = 25, .burst = 2}, .max_wait = 1h};
  e.reports = {{.outcome = Outcome::success},
               {.outcome = Outcome::transient},
               {.outcome = Outcome::overload, .retry_after = 20ms}};
  e.other.attempt_rate = e.policy.attempt_rate;
  e.successes_before = 1;
  expect_sound(e, 5'000);
}

TEST(CallExploration, AWriteThatIsNotIdempotent) {
  Exploration e = hedged_call();
  e.options.request = {};
  e.reports.push_back({.outcome = Outcome::unavailable});
  expect_sound(e, 5'500);
}

}  // namespace
}  // namespace damper::engine
