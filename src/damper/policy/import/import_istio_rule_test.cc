#include "damper/policy/import/import_istio_rule.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

struct Read {
  explicit Read(std::string_view text)
      : tree(*config::parse_yaml(text, "f")), rule(read_istio_rule(tree, "prod", notes)) {}

  std::string said(std::string_view subset, std::string_view prefix) {
    Drafts drafts(notes);
    drafts.add("r", {1, 1}, rule.traffic_of(subset, notes));
    const Imported imported = drafts.take("f");
    return policy::said(imported, "r", prefix);
  }

  config::Tree tree;
  ImportNotes notes{"f"};
  IstioRule rule;
};

TEST(IstioRule, ASubsetReplacesAPartAsAWhole) {
  Read read(R"(
host: a
trafficPolicy:
  connectionPool: { http: { maxRetries: 5, http2MaxRequests: 10 } }
  outlierDetection: { consecutive5xxErrors: 3 }
subsets:
- name: v1
  trafficPolicy: { connectionPool: { http: { maxRetries: 6 } } }
- name: v2
  labels: { version: v2 }
)");
  EXPECT_EQ(read.said("v1", "retry_budget.min_retry_c"), "min_retry_concurrency 6@8");
  EXPECT_EQ(read.said("v1", "concurrency_limit"), "");
  EXPECT_EQ(read.said("v1", "circuit_breaker.cons"), "consecutive_failures 3@5");
  for (const char* subset : {"v2", "v3", ""}) {
    EXPECT_EQ(read.said(subset, "retry_budget.min_retry_c"), "min_retry_concurrency 5@4");
    EXPECT_EQ(read.said(subset, "concurrency_limit.initial"), "initial 10@4");
  }
}

TEST(IstioRule, ABudgetStandsForMaxRetries) {
  Read read(
      "host: a\ntrafficPolicy:\n  retryBudget: {percent: 12.5}\n  connectionPool: {http: "
      "{maxRetries: 5, http2MaxRequests: 7}}\n");
  EXPECT_EQ(read.said("", "retry_budget"), "budget_percent 12.5@3, min_retry_concurrency 3");
  EXPECT_EQ(read.said("", "concurrency_limit.initial"), "initial 7@4");
}

TEST(IstioRule, TheOldNameOfConsecutiveErrorsIsKnown) {
  Read read("host: a\ntrafficPolicy: {outlierDetection: {consecutiveErrors: 2}}\n");
  EXPECT_EQ(read.said("", "circuit_breaker.cons"), "consecutive_failures 2@2");
}

TEST(IstioRule, AShortHostIsInItsNamespace) {
  EXPECT_EQ(full_host("reviews", "prod"), "reviews.prod.svc.cluster.local");
  EXPECT_EQ(full_host("reviews.test.svc.cluster.local", "prod"), "reviews.test.svc.cluster.local");
  EXPECT_EQ(full_host("", "prod"), "");
  IstioRule rule;
  rule.host = "reviews.prod.svc.cluster.local";
  EXPECT_TRUE(rule.is_about("reviews.prod.svc.cluster.local"));
  EXPECT_FALSE(rule.is_about("reviews.test.svc.cluster.local"));
}

TEST(IstioRule, AStarIsAboutAllThatEndSo) {
  IstioRule rule;
  rule.host = "*.example.com";
  EXPECT_TRUE(rule.is_about("a.example.com"));
  EXPECT_FALSE(rule.is_about("example.com"));
  EXPECT_FALSE(rule.is_about("a.example.org"));
}

TEST(IstioRule, SubsetsAreBounded) {
  std::string text = "host: a\nsubsets:\n";
  for (int i = 0; i <= 1000; ++i)
    text += "- {name: s" + std::to_string(i) + ", trafficPolicy: {}}\n";
  const Read read(text);
  ASSERT_TRUE(read.notes.error());
  EXPECT_EQ(to_string(*read.notes.error()), "f:1003:3: a rule has at most 1000 subsets");
}

}  // namespace
}  // namespace damper::policy
