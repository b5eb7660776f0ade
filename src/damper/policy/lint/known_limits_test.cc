#include "damper/policy/lint/known_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/lint/lint.h"

namespace damper::policy {
namespace {

// "REASON KEY LINE:COLUMN" of each limit, one a line.
std::string limits_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  EXPECT_TRUE(file) << to_string(file.error());
  std::string lines;
  if (!file) return lines;
  for (const KnownLimit& limit : known_limits(file->routes)) {
    lines += name(limit.reason);
    lines += ' ' + limit.key + ' ' + std::to_string(limit.place.line) + ':' +
             std::to_string(limit.place.column) + '\n';
  }
  return lines;
}

TEST(KnownLimits, TheDefaultPolicyHasLimitsAndNoFindings) {
  EXPECT_EQ(limits_of("route: {}"),
            "no-room retry_policy.num_retries 1:1\n"
            "brown-out retry_policy.num_retries 1:1\n"
            "reserve retry_budget.reserve 1:1\n");
  const auto file = load("route: {}", "p.yaml");
  ASSERT_TRUE(file);
  EXPECT_TRUE(lint(*file).empty());
}

TEST(KnownLimits, ABreakerHasThoseOfItsOpenTime) {
  const std::string none = "route: {retry_policy: {num_retries: 0}, ";
  EXPECT_EQ(limits_of(none + "circuit_breaker: {open_cap: 20s}}"),
            "open-time circuit_breaker.open_cap 1:69\n"
            "flapping circuit_breaker.open_base 1:1\n");
  EXPECT_EQ(limits_of(none + "circuit_breaker: {slow_call_duration: 1s}}"),
            "open-time circuit_breaker.open_cap 1:1\n"
            "flapping circuit_breaker.open_base 1:1\n"
            "slow-is-failure circuit_breaker.slow_call_duration 1:79\n");
}

TEST(KnownLimits, AConcurrencyLimitHasItsOwnAndEndsThoseOfRetries) {
  EXPECT_EQ(limits_of("route: {concurrency_limit: on}"),
            "reserve retry_budget.reserve 1:1\n"
            "slow-is-queue concurrency_limit.kind 1:1\n"
            "two-shedders concurrency_limit.kind 1:1\n");
  EXPECT_EQ(limits_of("route: {concurrency_limit: {kind: vegas}, retry_policy: {num_retries: 0}}"),
            "two-shedders concurrency_limit.kind 1:35\n");
  EXPECT_EQ(limits_of("route: {concurrency_limit: {kind: fixed}, retry_policy: {num_retries: 0}}"),
            "");
}

TEST(KnownLimits, WithoutRetriesAndReserveThereIsNone) {
  EXPECT_EQ(limits_of("route: {retry_policy: {num_retries: 0}}"), "");
  EXPECT_EQ(limits_of("route: {retry_budget: {reserve: 0}}"),
            "no-room retry_policy.num_retries 1:1\n"
            "brown-out retry_policy.num_retries 1:1\n");
}

TEST(KnownLimits, EveryReasonButThatOfControllersIsNamedForSomePolicy) {
  const std::string all = limits_of(
      "routes: {a: {circuit_breaker: {slow_call_duration: 1s}}, "
      "b: {concurrency_limit: on}}");
  for (std::size_t i = 0; i < kHarmReasonNames.size(); ++i) {
    const auto reason = static_cast<HarmReason>(i);
    EXPECT_EQ(('\n' + all).find('\n' + std::string(name(reason)) + ' ') != std::string::npos,
              reason != HarmReason::jitter)
        << name(reason);
    EXPECT_FALSE(text_of(reason).text.empty());
    EXPECT_EQ(text_of(reason).rules.find_first_not_of("gba"), std::string_view::npos);
  }
}

TEST(KnownLimits, AReasonOfSeveralRoutesCountsOnce) {
  const auto file = load("routes: {a: {}, b: {}, c: {circuit_breaker: on}}", "p.yaml");
  ASSERT_TRUE(file);
  const auto limits = known_limits(file->routes);
  EXPECT_EQ(limits.size(), 11U);
  EXPECT_EQ(limits.front().route, "a");
  EXPECT_EQ(limits.back().route, "c");
  EXPECT_EQ(count_reasons(limits), 5);
  EXPECT_EQ(count_reasons({}), 0);
}

}  // namespace
}  // namespace damper::policy
