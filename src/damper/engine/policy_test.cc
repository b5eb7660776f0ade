#include "damper/engine/policy.h"

#include <gtest/gtest.h>

#include <functional>
#include <type_traits>
#include <vector>

namespace damper::engine {
namespace {

using namespace std::chrono_literals;

TEST(Policy, TheDefaultsAreSafe) {
  const Policy policy;
  EXPECT_EQ(find_error(policy), std::nullopt);
  EXPECT_EQ(policy.call.backoff.jitter, schedule::Jitter::full);
  EXPECT_EQ(policy.call.max_attempts, 3);
  EXPECT_EQ(policy.budget.percent, Percent(10));
  EXPECT_GT(policy.call.timeout, 0s);
  EXPECT_EQ(policy.call.hedge.max_hedges, 0);
  EXPECT_FALSE(policy.call.retryable.contains(decide::Outcome::overload));
}

TEST(Policy, ACallCopiesItCheaply) {
  static_assert(std::is_trivially_copyable_v<CallPolicy>);
  EXPECT_LE(sizeof(CallPolicy), 192u);
}

TEST(Policy, EachPartIsChecked) {
  const std::vector<std::function<void(Policy&)>> bad = {
      [](Policy& p) { p.call.timeout = 0s; },
      [](Policy& p) { p.call.timeout = kLongest + 1ns; },
      [](Policy& p) { p.call.per_try_timeout = -1ns; },
      [](Policy& p) { p.call.needed = p.call.timeout + 1ns; },
      [](Policy& p) { p.call.reserve = p.call.timeout; },
      [](Policy& p) { p.call.reserve = -1ns; },
      [](Policy& p) { p.call.max_attempts = 0; },
      [](Policy& p) { p.call.max_attempts = 101; },
      [](Policy& p) { p.call.backoff.base = 0s; },
      [](Policy& p) { p.call.adaptive_timeout.margin = Percent(1); },
      [](Policy& p) { p.call.hedge.max_hedges = 9; },
      [](Policy& p) { p.budget.reserve = -1; },
      [](Policy& p) { p.breaker.emplace().probes = 0; },
      [](Policy& p) { p.throttle.emplace().window = 0s; },
      [](Policy& p) { p.limit.emplace().min = 0; },
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    Policy policy;
    bad[i](policy);
    EXPECT_NE(find_error(policy), std::nullopt) << "case " << i;
  }
  Policy policy;
  policy.call.hedge.max_hedges = 9;
  EXPECT_EQ(find_error(policy), "call.hedge.max_hedges is 9; it must be from 0 to 3");
}

}  // namespace
}  // namespace damper::engine
