#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "damper/base/random.h"
#include "damper/engine/call.h"
#include "damper/engine/call_player_testing.h"
#include "damper/engine/dependency.h"
#include "damper/engine/policy.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using admit::BreakerState;
using decide::Outcome;

Policy with_breaker() {
  Policy policy = scripted_policy();
  // Nothing expires in an hour: the slots of a small window are twice as long.
  policy.breaker.emplace() = {.consecutive_failures = 5, .window = 1h};
  policy.budget = {.percent = Percent(20), .window = 1h, .reserve = 3};
  return policy;
}

std::string random_script(Random& random) {
  std::string script;
  for (int attempt = 0; attempt < 3; ++attempt) {
    script += std::string_view(".tToucp")[random.bits() % 7];
    if (random.draw() < 0.5) script += std::to_string(random.bits() % 400);
  }
  return script;
}

// The same calls at the same times have the same traces and the same counts.
TEST(SmallDependency, PlaysEveryScriptAsALargeOne) {
  std::set<std::string> traces;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Dependency large("test", with_breaker());
    SmallDependency small("test", with_breaker());
    Instant now{1000s};
    for (int i = 0; i < 200; ++i) {
      const std::string script = random_script(random);
      const CallOptions options{.request = {.idempotent = random.draw() < 0.8}};
      const double draw = random.draw();
      BasicPlayer<Footprint::large> one(large, options, draw);
      BasicPlayer<Footprint::small> two(small, options, draw);
      const std::string trace = one.play(script, now);
      ASSERT_EQ(two.play(script, now), trace) << "seed " << seed << ", call " << i;
      traces.insert(trace.substr(trace.rfind(' ') + 1));
      now = one.now() + Duration{static_cast<std::int64_t>(random.draw() * 200e6)};
    }
    EXPECT_EQ(small.tally().verdicts, large.tally().verdicts);
    EXPECT_EQ(small.tally().retries, large.tally().retries);
    EXPECT_EQ(small.tally().attempts, large.tally().attempts);
    EXPECT_EQ(small.tally().in_flight(), 0u);
  }
  for (const char* verdict : {"success", "permanent", "breaker_open", "budget_spent"}) {
    EXPECT_TRUE(traces.contains(verdict)) << verdict;  // Or the scripts are too tame.
  }
}

TEST(SmallDependency, ParentsPayAndSwitchItOff) {
  admit::RetryBudget process({.reserve = 1});
  admit::Switches switches;
  SmallDependency dependency("test", scripted_policy(),
                             {.budget = &process, .switches = &switches});
  BasicPlayer<Footprint::small> first(dependency);
  EXPECT_EQ(first.play("t."), "send wait12 send success");
  EXPECT_EQ(process.balance(first.now()), 0.1);  // 0.1 earned, 1 spent; the reserve of 1 is full.
  process.reload({.percent = Percent(0), .reserve = 0}, first.now());
  EXPECT_EQ(BasicPlayer<Footprint::small>(dependency).play("t."), "send budget_spent");
  switches.set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(BasicPlayer<Footprint::small>(dependency).play("t."), "send switched_off");
}

TEST(SmallDependency, KeepsACoarseLatency) {
  SmallDependency dependency("test", scripted_policy());
  EXPECT_EQ(BasicPlayer<Footprint::small>(dependency).play(".80"), "send success");
  EXPECT_EQ(dependency.latencies().mean(), 80ms);
}

TEST(SmallDependency, AReloadReachesIt) {
  SmallDependency dependency("test", scripted_policy());
  EXPECT_FALSE(dependency.terms().has_breaker);
  Policy policy = with_breaker();
  policy.call.max_attempts = 1;
  policy.breaker->consecutive_failures = 1;
  dependency.reload(policy, Instant{1s});
  EXPECT_TRUE(dependency.terms().has_breaker);
  EXPECT_EQ(BasicPlayer<Footprint::small>(dependency).play("t"), "send attempts_spent");
  EXPECT_EQ(dependency.breaker().state(Player::kStart), BreakerState::open);
}

TEST(SmallDependency, TakesNoPolicyThatNeedsALargeOne) {
  const auto error = [](auto change) {
    Policy policy;
    change(policy);
    EXPECT_EQ(find_error(policy), std::nullopt);
    return find_error(policy, Footprint::small).value_or("none");
  };
  EXPECT_EQ(error([](Policy& p) { p.breaker.emplace().probes = 4; }), "none");
  EXPECT_EQ(error([](Policy& p) { p.breaker.emplace().probes = 5; }),
            "breaker.probes is 5; it must be from 1 to 4");
  EXPECT_EQ(error([](Policy& p) { p.throttle.emplace(); }),
            "throttle is set; a small dependency has none");
  EXPECT_EQ(error([](Policy& p) { p.limit.emplace(); }),
            "limit is set; a small dependency has none");
  EXPECT_EQ(error([](Policy& p) { p.call.hedge.max_hedges = 1; }),
            "call.hedge.max_hedges is 1; it must be from 0 to 0");
  EXPECT_EQ(error([](Policy& p) { p.call.adaptive_timeout.on = true; }),
            "call.adaptive_timeout.on is true; a small dependency has no live quantile");
}

}  // namespace
}  // namespace damper::engine
