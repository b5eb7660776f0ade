#include "damper/policy/lint/lint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

TEST(Finding, EveryRuleHasANameOfItsOwnAndTwoSentences) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    const RuleText& text = text_of(static_cast<Rule>(i));
    EXPECT_TRUE(names.insert(kRuleNames[i]).second) << kRuleNames[i];
    EXPECT_EQ(kRuleNames[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789"),
              std::string_view::npos);
    EXPECT_TRUE(text.what.ends_with('.')) << kRuleNames[i];
    EXPECT_TRUE(text.why.ends_with('.')) << kRuleNames[i];
  }
}

// So that the table, the names and the enumeration are the same list.
TEST(Finding, TheWorstRulesComeFirst) {
  for (std::size_t i = 1; i < kRuleNames.size(); ++i) {
    EXPECT_LE(severity_of(static_cast<Rule>(i)), severity_of(static_cast<Rule>(i - 1)));
  }
  EXPECT_EQ(name(Rule::does_not_load), "does-not-load");
  EXPECT_EQ(name(Rule::timeout_under_p50), "timeout-under-p50");
  EXPECT_EQ(severity_of(Rule::timeout_under_p50), Severity::error);
  EXPECT_EQ(name(Rule::no_budget), "no-budget");
  EXPECT_EQ(severity_of(Rule::no_budget), Severity::warning);
  EXPECT_EQ(name(Rule::hedge_without_attempts), "hedge-without-attempts");
  EXPECT_EQ(severity_of(Rule::hedge_without_attempts), Severity::warning);
  EXPECT_EQ(name(Rule::hidden_capacity), "hidden-capacity");
  EXPECT_EQ(severity_of(Rule::hidden_capacity), Severity::note);
  EXPECT_EQ(static_cast<std::size_t>(Rule::not_as_written) + 1, kRuleNames.size());
  EXPECT_EQ(name(Rule::not_as_written), "not-as-written");
}

// Invariant (1).
TEST(Lint, TheDefaultPolicyHasNoFindings) {
  EXPECT_EQ(rules_of("route: {}"), "");
  EXPECT_EQ(rules_of("routes: {a: {}, b: {facts: on}}"), "");
  EXPECT_EQ(lint(std::vector<Route>(3)).size(), 0u);
  for (const char* part : {"hedge_policy: {max_hedges: 1}", "adaptive_timeout: on",
                           "circuit_breaker: on", "concurrency_limit: on", "client_throttle: on"}) {
    EXPECT_EQ(rules_of("route: {" + std::string(part) + "}"), "") << part;
  }
}

TEST(Lint, TheArticlesExampleHasOneNote) {
  EXPECT_EQ(rules_of(R"(route:
  timeout: 2s
  retry_policy:
    retry_on: "5xx,reset,connect-failure"
    num_retries: 2
    per_try_timeout: 0.8s
    retry_back_off: { base_interval: 0.1s, max_interval: 2s }
    retry_budget: { budget_percent: 10, min_retry_concurrency: 3 }
  hedge_policy:
    initial_requests: 1
    additional_request_chance: { numerator: 0 }
)"),
            "attempts-may-not-fit");
}

TEST(Lint, TheNotesOfTheLoaderAreFindings) {
  EXPECT_EQ(said_by(Rule::not_as_written, "route: {retry_policy: {retry_on: ''}}"),
            "1:34 : retry_on is empty: nothing is retried | leave it out, or write what is meant");
  EXPECT_EQ(said_by(Rule::retries_on_overload,
                    "route: {retry_policy: {retry_on: '5xx,envoy-ratelimited'}}"),
            "1:34 : retry_on has envoy-ratelimited: it says that the dependency is overloaded; it "
            "is retried only when the server says when to come back | leave it out, and let the "
            "server say when to come back (Retry-After)");
  EXPECT_EQ(rules_of("route: {retry_policy: {retry_on: 'reset,resource-exhausted'}}"),
            "retries-on-overload");
  EXPECT_EQ(rules_of("route: {retry_policy: {retry_on: retriable-status-codes, "
                     "retriable_status_codes: [429, 503]}}"),
            "retries-on-overload");
}

// Invariant (2).
TEST(Lint, FindingsComeInTheOrderOfTheFileAndEachHasAFix) {
  const auto findings = findings_of(R"(routes:
  b:
    retry_budget: { budget_percent: 300 }
    timeout: 2h
    retry_policy: { retry_on: "5xx,cancelled", retry_back_off: { jitter: none } }
  a: { facts: { capacity: 10, load: 10 }, hedge_policy: { max_hedges: 1 } }
)");
  std::string rules;
  int line = 0;
  for (const Finding& finding : findings) {
    rules += std::string(name(finding.rule)) + ' ';
    EXPECT_LE(line, finding.place.line);
    line = finding.place.line;
    EXPECT_NE(finding.fix, "") << rules;
  }
  EXPECT_EQ(rules, "no-budget no-deadline not-as-written no-jitter load-over-capacity ");
}

TEST(Lint, RoutesNeedNeitherOriginsNorPlaces) {
  Route route;
  route.name = "db";
  route.place = {7, 3};
  route.settings.policy.call.backoff.jitter = schedule::Jitter::none;
  route.settings.facts.emplace().calls = {"nobody"};
  const auto findings = lint({&route, 1});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, Rule::no_jitter);
  EXPECT_EQ(findings[0].place, (config::SourceLocation{7, 3}));
}

}  // namespace

}  // namespace damper::policy
