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

TEST(LintParts, ARateUnderTheLoadIsNamed) {
  EXPECT_EQ(said_by(Rule::rate_under_load,
                    "route: {attempt_rate_limit: {attempts_per_second: 100}, facts: {load: 250}}"),
            "1:51 : the load is 250/s, but only 100/s may be sent: the other calls end with "
            "rate_limited | attempts_per_second: 275   # the load and its retries");
  const auto fleet = [](const char* rate) {
    return said_by(Rule::rate_under_load,
                   std::string("route: {attempt_rate_limit: {attempts_per_second: ") + rate +
                       "}, facts: {load: 250, clients: 10}}");
  };
  EXPECT_EQ(fleet("24.9"),
            "1:51 : the load is 250/s, but 10 clients may send only 249/s together: the other "
            "calls end with rate_limited | attempts_per_second: 27.5   # the load and its retries");
  EXPECT_EQ(fleet("25"), "");
  EXPECT_EQ(rules_of("route: {attempt_rate_limit: {attempts_per_second: 1}}"), "");
}

TEST(LintParts, AWaitForATokenThatOutlastsTheCallIsNamed) {
  EXPECT_EQ(said_by(Rule::wait_over_timeout,
                    "route: {timeout: 2s, attempt_rate_limit: {attempts_per_second: 9, max_wait: "
                    "3s}}"),
            "1:77 : an attempt may wait 3s for its token, but the call lasts 2s at most: it is "
            "refused as soon as the wait would pass the deadline | max_wait: 1s   # or a longer "
            "timeout");
  const auto rules = [](const char* wait) {
    return rules_of(std::string("route: {timeout: 2s, attempt_rate_limit: {attempts_per_second: 9, "
                                "max_wait: ") +
                    wait + "}}");
  };
  EXPECT_EQ(rules("2s"), "wait-over-timeout");
  EXPECT_EQ(rules("1999ms"), "");
  EXPECT_EQ(rules("off"), "");
}

TEST(LintParts, AKnownHarmIsNamedWhereItApplies) {
  EXPECT_EQ(said_by(Rule::known_harm, "route: {circuit_breaker: {open_cap: 1m}}"),
            "1:37 : after a long outage the breaker sends a probe only every 30s to 1m: the "
            "traffic returns up to that much later | circuit_breaker: { open_cap: 30s }");
  EXPECT_NE(said_by(Rule::known_harm, "route: {circuit_breaker: {open_cap: 5m, open_base: 1m}}")
                .find(" | circuit_breaker: { open_base: 1s, open_cap: 30s }"),
            std::string::npos);
  EXPECT_EQ(rules_of("route: {circuit_breaker: {open_cap: 30s}}"), "");
  EXPECT_EQ(rules_of("route: {circuit_breaker: {slow_call_duration: 1s}}"), "known-harm");
  const auto at_load = [](const char* load, const char* more) {
    return rules_of(std::string("route: {facts: {capacity: 100, load: ") + load + "}" + more + "}");
  };
  EXPECT_NE(at_load("90", "").find("known-harm"), std::string::npos);
  EXPECT_EQ(at_load("89", "").find("known-harm"), std::string::npos);
  EXPECT_EQ(at_load("90", ", concurrency_limit: on").find("known-harm"), std::string::npos);
  EXPECT_EQ(at_load("90", ", retry_policy: {num_retries: 0}").find("known-harm"),
            std::string::npos);
}

}  // namespace
}  // namespace damper::policy
