#include <gtest/gtest.h>

#include <string>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

TEST(LintTiming, NoJitterIsNamedWithWhenTheHerdComesBack) {
  EXPECT_EQ(
      said_by(Rule::no_jitter, "route: {retry_back_off: {jitter: none, base_interval: 250ms}}"),
      "1:34 : all calls that failed at one moment come back at one moment, 250ms later | "
      "retry_back_off: { jitter: full }");
  for (const char* fine :
       {"route: {retry_back_off: {jitter: equal}}",
        "route: {retry_back_off: {jitter: decorrelated}}",
        "route: {retry_back_off: {jitter: none}, retry_policy: {num_retries: 0}}"}) {
    EXPECT_EQ(rules_of(fine), "") << fine;
  }
  EXPECT_EQ(rules_of("route: {retry_back_off: {jitter: none}, retry_policy: {retry_on: ''}}"),
            "not-as-written");
}

TEST(LintTiming, AttemptsThatCanNeverBeStartedAreNamed) {
  EXPECT_EQ(
      said_by(Rule::attempts_exceed_deadline,
              "route: {timeout: 1s, retry_policy: {num_retries: 4, retry_back_off: {jitter: "
              "decorrelated, base_interval: 300ms}}}"),
      "1:50 : the shortest waits between 5 attempts are too long for the 1s of the call: of 5 "
      "attempts 4 fit at best, 1 at worst | num_retries: 3, or a shorter base_interval");
}

TEST(LintTiming, ATimeoutThatLeavesNoTimeForARetryIsNamed) {
  EXPECT_EQ(
      said_by(Rule::attempts_exceed_deadline,
              "route: {timeout: 2s, retry_policy: {per_try_timeout: 2s}}"),
      "1:54 : an attempt may take 2s of the 2s of the call, so one that times out is not "
      "retried: of 3 attempts 3 fit at best, 1 at worst | timeout: 7.5s, or a per_try_timeout "
      "under half of the timeout");
}

TEST(LintTiming, AttemptsThatFitOnlyIfTheyFailEarlyAreNoted) {
  EXPECT_EQ(
      said_by(Rule::attempts_may_not_fit,
              "route: {timeout: 2s, retry_policy: {per_try_timeout: 800ms, retry_back_off: "
              "{base_interval: 100ms}}}"),
      "1:1 : 3 attempts of up to 800ms and waits of up to 300ms do not fit the 2s of the call: "
      "of 3 attempts 3 fit at best, 2 at worst | timeout: 2.7s, or num_retries: 1");
  EXPECT_EQ(
      said_by(Rule::attempts_may_not_fit,
              "route: {timeout: 1.5s, retry_policy: {per_try_timeout: 1s}}"),
      "1:1 : 3 attempts of up to 1s and waits of up to 1.5s do not fit the 1.5s of the call: "
      "of 3 attempts 3 fit at best, 1 at worst | timeout: 4.5s, or a shorter per_try_timeout");
  EXPECT_EQ(rules_of("route: {timeout: 2.7s, retry_policy: {per_try_timeout: 800ms, "
                     "retry_back_off: {base_interval: 100ms}}}"),
            "");
  EXPECT_EQ(rules_of("route: {timeout: 2s, adaptive_timeout: on, retry_policy: {per_try_timeout: "
                     "800ms}}"),
            "");  // Nobody knows how long it will be.
  EXPECT_EQ(rules_of("route: {timeout: 2s, retry_policy: {num_retries: 0, per_try_timeout: 2s}}"),
            "");
}

TEST(LintTiming, ATimeoutOfAnHourIsNone) {
  EXPECT_EQ(said_by(Rule::no_deadline, "route: {timeout: 1h}"),
            "1:18 : a timeout of 1h is no deadline: a call that hangs, hangs | timeout: 5s   # or "
            "what the caller waits for");
  EXPECT_EQ(rules_of("route: {timeout: 3599s}"), "");
}

std::string with_latency(const std::string& keys) {
  return "route: {" + keys + ", facts: {latency: {p50: 20ms, p99: 180ms, p999: 900ms}}}";
}

TEST(LintTiming, AnAttemptTimeoutUnderTheP99IsNamed) {
  EXPECT_EQ(
      said_by(Rule::timeout_under_p99, with_latency("retry_policy: {per_try_timeout: "
                                                    "100ms}")),
      "1:41 : an attempt is given up after 100ms, under the p99 of 180ms: more than 1 % of the "
      "healthy ones are cut off | per_try_timeout: 1.35s");
  EXPECT_EQ(
      said_by(Rule::timeout_under_p99,
              "route: {timeout: 100ms, retry_policy: {num_retries: "
              "0}, facts: {latency: {p99: 180ms}}}"),
      "1:18 : an attempt is given up after 100ms, under the p99 of 180ms: more than 1 % of the "
      "healthy ones are cut off | timeout: 540ms");
  EXPECT_EQ(rules_of(with_latency("retry_policy: {per_try_timeout: 180ms}")), "");
  EXPECT_EQ(rules_of(with_latency("adaptive_timeout: {upper: 100ms}")), "timeout-under-p99");
  EXPECT_EQ(rules_of("route: {retry_policy: {per_try_timeout: 100ms}}"), "");
}

TEST(LintTiming, AnAttemptTimeoutUnderTheMedianIsAnError) {
  EXPECT_EQ(said_by(Rule::timeout_under_p50, with_latency("retry_policy: {per_try_timeout: "
                                                          "19ms}")),
            "1:41 : an attempt is given up after 19ms, under the median of 20ms: more than half of "
            "the healthy ones are cut off | per_try_timeout: 1.35s");
  EXPECT_EQ(rules_of(with_latency("retry_policy: {per_try_timeout: 19ms}")), "timeout-under-p50");
  EXPECT_EQ(rules_of(with_latency("retry_policy: {per_try_timeout: 20ms}")), "timeout-under-p99");
  EXPECT_EQ(said_by(Rule::timeout_under_p50,
                    "route: {retry_policy: {per_try_timeout: 19ms}, facts: "
                    "{latency: {p50: 20ms}}}")
                .substr(110),
            " off | per_try_timeout: 200ms");
}

TEST(LintTiming, AnAttemptTimeoutFarOverTheP99IsNamed) {
  EXPECT_EQ(said_by(Rule::timeout_far_over_p99, with_latency("timeout: 5s")),
            "1:18 : an attempt that hangs is given up after 5s, 28 times the p99 of 180ms | "
            "per_try_timeout: 1.35s");
  EXPECT_EQ(
      said_by(Rule::timeout_far_over_p99,
              "route: {retry_policy: {per_try_timeout: 201ms}, facts: {latency: {p99: 20ms}}}"),
      "1:41 : an attempt that hangs is given up after 201ms, 10 times the p99 of 20ms | "
      "per_try_timeout: 60ms");
  EXPECT_EQ(rules_of("route: {retry_policy: {per_try_timeout: 200ms}, facts: {latency: {p99: "
                     "20ms}}}"),
            "");
  EXPECT_EQ(rules_of("route: {retry_policy: {per_try_timeout: 1s}, facts: {latency: {p99: 20ms, "
                     "p999: 400ms}}}"),
            "");  // Its tail is long: under 3 times the p999.
  EXPECT_EQ(rules_of(with_latency("timeout: 5s, adaptive_timeout: on")), "");
}

}  // namespace
}  // namespace damper::policy
