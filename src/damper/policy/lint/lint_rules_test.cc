#include "damper/policy/lint/lint_rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

TEST(LintRules, NumbersAreRoundedAndEndWithoutZeros) {
  EXPECT_EQ(decimal(272.727, 1), "272.7");
  EXPECT_EQ(decimal(150.0, 1), "150");
  EXPECT_EQ(decimal(0.04, 1), "0");
  EXPECT_EQ(decimal(100, 0), "100");
  EXPECT_EQ(attempts_text(1.1 * 1.1 * 1.1), "1.331");
  EXPECT_EQ(attempts_text(1 + 0.1), "1.1");
  EXPECT_EQ(rate_text(300.0 / 1.1), "272.7/s");
  EXPECT_EQ(decimal(std::numeric_limits<double>::max(), 3).size(), 309u);
}

TEST(LintSafety, AnUnsafeMethodThatIsRetriedIsAnError) {
  EXPECT_EQ(
      said_by(Rule::unsafe_retries,
              "route: {facts: {methods: [GET, POST, PATCH], assume_idempotent: true}}"),
      "1:65 : POST, PATCH: retried also when the first attempt may have been carried out, up "
      "to 3 times in all | assume_idempotent: false   # and an Idempotency-Key for those that "
      "the server knows");
  EXPECT_EQ(rules_of("route: {facts: {methods: [GET, HEAD, OPTIONS, TRACE, PUT, DELETE], "
                     "assume_idempotent: true}}"),
            "");
  EXPECT_EQ(rules_of("route: {retry_policy: {num_retries: 0}, facts: {methods: POST, "
                     "assume_idempotent: true}}"),
            "");
}

TEST(LintSafety, MethodsThatNobodyKnowsAreAWarning) {
  EXPECT_EQ(said_by(Rule::any_method_retried, "route: {facts: {assume_idempotent: true}}"),
            "1:36 : every request is retried, and facts.methods does not exclude POST | facts: { "
            "methods: [GET] }   # what is really sent");
}

// The engine does not retry them: good to know, and not wrong.
TEST(LintSafety, AnUnsafeMethodThatIsNotRetriedIsANote) {
  EXPECT_EQ(said_by(Rule::methods_not_retried, "route: {facts: {methods: [GET, POST]}}"),
            "1:26 : POST: sent again only when the first attempt surely never left | send an "
            "Idempotency-Key, if the server knows it, to have these retried too");
  EXPECT_EQ(rules_of("route: {facts: {methods: [GET, PUT]}}"), "");
  EXPECT_EQ(rules_of("route: {facts: {methods: [PATCH]}}"), "methods-not-retried");
  EXPECT_EQ(rules_of("route: {facts: {methods: []}}"), "");
}

TEST(LintSafety, AHedgePolicyForWritesIsNamed) {
  EXPECT_EQ(said_by(Rule::hedged_writes,
                    "route: {hedge_policy: {max_hedges: 1}, facts: {methods: [GET, PUT, DELETE]}}"),
            "1:57 : PUT, DELETE: a hedged write is executed twice at once, so these are not hedged "
            "unless their caller declares them safe | hedge_policy on a route of reads alone: "
            "methods: [GET]");
  EXPECT_EQ(rules_of("route: {hedge_policy: {max_hedges: 1}, facts: {methods: PUT}}"),
            "hedged-writes");
  EXPECT_EQ(rules_of("route: {hedge_policy: {max_hedges: 1}, facts: {methods: [GET, HEAD, OPTIONS, "
                     "TRACE]}}"),
            "");
  EXPECT_EQ(rules_of("route: {hedge_policy: {max_hedges: 0}, facts: {methods: PUT}}"), "");
}

TEST(LintSafety, HedgingWithoutABudgetIsNamed) {
  EXPECT_EQ(said_by(Rule::hedge_without_budget,
                    "route: {retry_budget: {budget_percent: 100}, hedge_policy: "
                    "{additional_request_chance: 100%}}"),
            "1:88 : every request may be hedged: when the dependency slows down its load doubles | "
            "hedge_policy: { additional_request_chance: { numerator: 5 } }");
  EXPECT_EQ(rules_of("route: {retry_budget: {budget_percent: 100}, hedge_policy: "
                     "{additional_request_chance: 99.99%}}"),
            "amplification");
}

TEST(LintSafety, HedgesThatMaySpendTheBudgetAreNoted) {
  EXPECT_EQ(
      said_by(Rule::hedges_spend_budget, "route: {hedge_policy: {additional_request_chance: 10%}}"),
      "1:51 : hedges may be 10 % of the requests, and they share the retry budget of 10 %: "
      "nothing is left for retries | additional_request_chance: 5%");
  EXPECT_EQ(rules_of("route: {hedge_policy: {additional_request_chance: 9.99%}}"), "");
  EXPECT_EQ(rules_of("route: {retry_budget: {budget_percent: 0}, hedge_policy: {max_hedges: 1}}"),
            "");
}

TEST(LintSafety, HedgesNeedAttempts) {
  EXPECT_EQ(said_by(Rule::hedge_without_attempts,
                    "route: {retry_policy: {num_retries: 0}, hedge_policy: {max_hedges: 2}}"),
            "1:68 : max_hedges is 2, but num_retries is 0, and hedges count as attempts: none is "
            "ever sent | retry_policy: { num_retries: 1 }");
  EXPECT_EQ(rules_of("route: {retry_policy: {num_retries: 1}, hedge_policy: {max_hedges: 2}}"), "");
}

TEST(LintRules, AComputedTimeHasFourDigits) {
  EXPECT_EQ(time_text(std::chrono::nanoseconds(207'232'659)), "207.2ms");
  EXPECT_EQ(time_text(std::chrono::milliseconds(250)), "250ms");
  EXPECT_EQ(time_text(std::chrono::nanoseconds(99'999)), "100us");
  EXPECT_EQ(time_text(Duration{0}), "0s");
}

}  // namespace

}  // namespace damper::policy
