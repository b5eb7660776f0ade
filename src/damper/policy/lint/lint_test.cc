#include "damper/policy/lint/lint.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

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
