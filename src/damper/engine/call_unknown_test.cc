// A failure of which the cause is unknown: it is judged by its outcome, and the parts that calls
// share learn nothing from it.

#include <gtest/gtest.h>

#include "damper/engine/call.h"
#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::Report;

constexpr Instant kStart = Player::kStart;

// One attempt that takes 10 ms and ends like this.
Verdict play(Dependency& dependency, const Report& report) {
  Call call(dependency, {});
  call.start(kStart, 0.5);
  EXPECT_TRUE(call.step().sends);
  call.on_outcome(0, report, kStart + 10ms, 0.5);
  return call.step().verdict;
}

Policy guarded() {
  Policy policy = scripted_policy();
  policy.breaker.emplace();
  policy.breaker->consecutive_failures = 2;
  policy.throttle.emplace();
  policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  return policy;
}

TEST(CallUnknown, EndsTheCallByItsOutcome) {
  Dependency dependency("test", guarded());
  EXPECT_EQ(play(dependency, {.outcome = Outcome::permanent, .unknown = true}), Verdict::permanent);
  EXPECT_EQ(play(dependency, {.outcome = Outcome::overload, .unknown = true}), Verdict::overload);
}

TEST(CallUnknown, IsNeitherAFailureNorASuccessToTheBreaker) {
  Dependency dependency("test", guarded());
  for (const Outcome outcome : {Outcome::permanent, Outcome::transient, Outcome::timeout}) {
    for (int i = 0; i < 5; ++i) (void)play(dependency, {.outcome = outcome, .unknown = true});
  }
  EXPECT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
  (void)play(dependency, {.outcome = Outcome::transient});
  (void)play(dependency, {.outcome = Outcome::permanent, .unknown = true});
  EXPECT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
  (void)play(dependency, {.outcome = Outcome::transient});  // The second in a row.
  EXPECT_EQ(dependency.breaker().state(kStart + 10ms), admit::BreakerState::open);
}

TEST(CallUnknown, IsNoSampleAndGivesItsPlaceBack) {
  Dependency dependency("test", guarded());
  for (int i = 0; i < 50; ++i) {
    (void)play(dependency, {.outcome = Outcome::timeout, .unknown = true});
  }
  EXPECT_EQ(dependency.latencies().samples(kStart), 0);
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  EXPECT_EQ(dependency.throttle().reject_probability(kStart), 0.0);
  EXPECT_EQ(dependency.tally().in_flight(), 0u);
}

}  // namespace
}  // namespace damper::engine
