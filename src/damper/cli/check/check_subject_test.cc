#include "damper/cli/check/check_subject.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace damper::cli {
namespace {

CheckSubject subject_of(const std::string& given, const std::string& input = "",
                        std::optional<policy::From> from = std::nullopt) {
  std::istringstream in(input);
  std::ostringstream out;
  auto subject = load_subject(given, from, {in, out, out});
  EXPECT_TRUE(subject) << to_string(subject.error());
  return subject ? std::move(*subject) : CheckSubject{};
}

// "RULE ROUTE@LINE; ..."
std::string rules_of(const CheckSubject& subject) {
  std::string text;
  for (const policy::Finding& finding : subject.findings) {
    text += std::string(name(finding.rule)) + ' ' + finding.route + '@' +
            std::to_string(finding.place.line) + "; ";
  }
  return text;
}

bool says(const CheckSubject& subject, policy::Rule rule, const std::string& words) {
  for (const policy::Finding& finding : subject.findings) {
    if (finding.rule == rule && finding.why.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(CheckSubject, APolicyFileIsLinted) {
  const CheckSubject subject =
      subject_of("-", "route:\n  retry_policy: {retry_back_off: {jitter: none}}\n");
  EXPECT_EQ(subject.name, "standard input");
  EXPECT_EQ(rules_of(subject), "no-jitter @2; ");
  EXPECT_EQ(subject.effective.find("route:"), 0U);
}

constexpr const char* kProxy =
    "listeners: {web: {address: ':8080'}}\n"
    "clusters: {shop: {endpoints: [http://10.0.0.1:9000]}}\n";

TEST(CheckSubject, AProxysFileIsLintedWithItsNotes) {
  const CheckSubject subject =
      subject_of("-", std::string(kProxy) +
                          "routes:\n"
                          "  a: {retry_policy: {retry_back_off: {jitter: none}}}\n"
                          "  b: {match: {path: /b}}\n");
  EXPECT_EQ(rules_of(subject), "no-jitter a@4; not-as-written @5; ");
  EXPECT_TRUE(says(subject, policy::Rule::not_as_written, "route b is never reached"));
  EXPECT_NE(subject.effective.find("listeners:\n  \"web\":\n    address: \"127.0.0.1:8080\"\n"),
            std::string::npos);
}

TEST(CheckSubject, WhatAProxyPrintsIsAProxysFile) {
  const std::string effective = subject_of("-", kProxy).effective;
  EXPECT_EQ(subject_of("-", effective).effective, effective);
}

TEST(CheckSubject, WhichRequestsAProxysRouteTakesIsAFact) {
  const auto rules = [](const std::string& route) {
    return rules_of(subject_of("-", kProxy + route + '\n'));
  };
  EXPECT_EQ(rules("route: {match: {methods: [GET]}}"), "");
  EXPECT_EQ(rules("route: {match: {methods: [GET, POST]}}"), "methods-not-retried @3; ");
  EXPECT_EQ(rules("route: {assume_idempotent: true}"), "any-method-retried @3; ");
  EXPECT_EQ(rules("route: {assume_idempotent: true, match: {methods: [POST]}}"), "");
}

TEST(CheckSubject, AScenarioBringsItsOwnFacts) {
  // HotOS '21: 300 a second, one retry; and the same with a budget of 10 %.
  const CheckSubject subject = subject_of("metastable-db");
  EXPECT_TRUE(says(subject, policy::Rule::load_over_hidden_capacity, "150")) << rules_of(subject);
  EXPECT_TRUE(says(subject, policy::Rule::hidden_capacity, "272.7")) << rules_of(subject);
}

TEST(CheckSubject, AFileWithAScenarioKeyIsOne) {
  const std::string text =
      "scenario: mine\nabout: Mine.\nservices: {db: {workers: 1, service_time: 10ms}}\n"
      "clients: {app: {calls: db, rate: 99}}\n"
      "policy: {route: {retry_budget: {budget_percent: 1000}}}\n";
  const CheckSubject subject = subject_of("-", text);
  EXPECT_TRUE(says(subject, policy::Rule::load_over_hidden_capacity, "33.3")) << rules_of(subject);
}

// The names of the reasons of its known limits.
std::string limits_of(const CheckSubject& subject) {
  std::string names;
  for (const policy::KnownLimit& limit : subject.limits) {
    names += name(limit.reason);
    names += '@' + std::to_string(limit.place.line) + ' ';
  }
  return names;
}

TEST(CheckSubject, EveryKindOfFileHasTheLimitsOfItsDefences) {
  EXPECT_EQ(limits_of(subject_of("-", "route: {}")), "no-room@1 brown-out@1 reserve@1 ");
  EXPECT_EQ(limits_of(subject_of(
                "-", std::string(kProxy) +
                         "route: {circuit_breaker: on, retry_policy: {num_retries: 0}}\n")),
            "open-time@3 flapping@3 ");
  const CheckSubject controllers =
      subject_of("-",
                 "scenario: mine\nabout: Mine.\nservices: {db: {workers: 1, service_time: 10ms}}\n"
                 "controllers:\n  c: {calls: db, events: 1}\npolicy: {route: {retry_policy: "
                 "{num_retries: 0}}}\n");
  EXPECT_EQ(limits_of(controllers), "jitter@5 ");
  EXPECT_EQ(controllers.limits[0].route, "c");
}

TEST(CheckSubject, AFileOfAnotherSystemIsLintedWhereItStands) {
  const std::string text =
      "route_config:\n  virtual_hosts:\n  - name: web\n    domains: [\"*\"]\n    routes:\n"
      "    - match: {prefix: /}\n      route:\n        cluster: web\n"
      "        retry_policy: {retry_on: 5xx, num_retries: 3}\n";
  const CheckSubject subject = subject_of("-", text, policy::From::envoy);
  EXPECT_NE(rules_of(subject).find("any-method-retried"), std::string::npos) << rules_of(subject);
}

TEST(CheckSubject, WhatDoesNotLoadIsOneSentence) {
  std::istringstream in("scenario: mine\nservces: {}\n");
  std::ostringstream out;
  const auto subject = load_subject("-", std::nullopt, {in, out, out});
  ASSERT_FALSE(subject);
  EXPECT_NE(to_string(subject.error()).find("standard input:2:1: "), std::string::npos)
      << to_string(subject.error());
}

TEST(CheckSubject, AWebhooksFileIsLinted) {
  const auto rules = [](const std::string& text) { return rules_of(subject_of("-", text)); };
  EXPECT_EQ(rules("store: hooks.db\n"), "") << "the defaults have no findings";
  EXPECT_EQ(rules("delivery:\n  jitter: 0%\n"), "no-jitter @2; ");
  EXPECT_EQ(rules("delivery:\n  retries: [1h, 10h]\n  max_age: 11h\n"), "");
  const CheckSubject late = subject_of("-", "delivery:\n  max_age: 10h\n  retries: [1h, 10h]\n");
  EXPECT_EQ(rules_of(late), "attempts-exceed-deadline @3; ");
  EXPECT_TRUE(says(late, policy::Rule::attempts_exceed_deadline, "about 1 of its 2 retries"));
  EXPECT_EQ(rules("delivery:\n  schedule: full\n  max_age: 1h\n  max_attempts: 30\n"),
            "attempts-exceed-deadline @4; ");
  EXPECT_EQ(rules("store: a\ndrain_time: 19s\n"), "attempts-exceed-deadline @2; ");
  EXPECT_EQ(rules("delivery:\n  max_attempts: 3\n"), "not-as-written @2; ");
  EXPECT_EQ(rules("delivery:\n  schedule: equal\n  retries: [1s]\n"), "not-as-written @3; ");
  EXPECT_EQ(rules("store: a\ncircuit_breaker:\n  host_probes_per_second: 101\n"),
            "not-as-written @3; ");
}

TEST(CheckSubject, AWebhooksFileThatDoesNotLoadHasAPlace) {
  std::istringstream in("store: a\ndelivery: {timeout: 1h}\n");
  std::ostringstream out;
  const auto subject = load_subject("-", std::nullopt, {in, out, out});
  ASSERT_FALSE(subject);
  EXPECT_EQ(subject.error().place.line, 2) << to_string(subject.error());
}

}  // namespace
}  // namespace damper::cli
