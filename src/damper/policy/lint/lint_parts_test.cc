#include <gtest/gtest.h>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

TEST(LintParts, ALeaseUnderTheTimeoutOfAnAttemptIsNamed) {
  EXPECT_EQ(said_by(Rule::lease_under_timeout,
                    "route: {timeout: 10s, circuit_breaker: {probe_lease: 5s}}"),
            "1:54 : a probe counts as failed after 5s, and an attempt may take 10s: an answer in "
            "between comes after the breaker has opened again | probe_lease: auto   # 15s");
  EXPECT_EQ(rules_of("route: {circuit_breaker: {probe_lease: 5s}}"), "lease-under-timeout");
  EXPECT_EQ(rules_of("route: {circuit_breaker: {probe_lease: 5001ms}}"), "");
  EXPECT_EQ(rules_of("route: {timeout: 10s, circuit_breaker: {probe_lease: auto}}"), "");
  EXPECT_EQ(rules_of("route: {timeout: 10s, circuit_breaker: on}"), "");
  EXPECT_EQ(rules_of("route: {timeout: 10s, retry_policy: {per_try_timeout: 1s}, "
                     "circuit_breaker: {probe_lease: 2s}}"),
            "");
}

TEST(LintParts, AThrottleWithoutABoundIsNamed) {
  EXPECT_EQ(said_by(Rule::throttle_without_bound, "route: {client_throttle: {max_rejected: 100}}"),
            "1:41 : up to 100 % of the calls are rejected: none is left to find out that the "
            "dependency has recovered | max_rejected: 92");
  EXPECT_EQ(said_by(Rule::throttle_without_bound, "route: {client_throttle: {max_rejected: 99}}"),
            "1:41 : up to 99 % of the calls are rejected: one in 100 is left to find out that the "
            "dependency has recovered | max_rejected: 92");
  EXPECT_EQ(rules_of("route: {client_throttle: {max_rejected: 95}}"), "");
  EXPECT_EQ(rules_of("route: {client_throttle: on}"), "");
}

}  // namespace
}  // namespace damper::policy
