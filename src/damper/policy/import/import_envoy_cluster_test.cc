#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

// The file with one cluster, `c`, that has these fields.
Imported cluster(std::string_view fields) {
  return import_of(From::envoy, "clusters:\n- { name: c, " + std::string(fields) + " }\n");
}

TEST(ImportEnvoyCluster, SaysWhatIsUnderWay) {
  const Imported imported = cluster(
      "circuit_breakers: {thresholds: [{max_requests: 50, max_retries: 9, max_connections: 2}]}");
  EXPECT_EQ(said(imported, "c", "retry_budget"),
            "budget_percent 0, min_retries_per_second 10000, min_retry_concurrency 9@2");
  EXPECT_EQ(said(imported, "c", "concurrency_limit"), "kind fixed, initial 50@2, max 50@2");
  EXPECT_EQ(notes_with(imported, "max_connections has no equivalent"), 1);
}

TEST(ImportEnvoyCluster, ARetryBudgetStandsForMaxRetries) {
  const Imported imported =
      cluster("circuit_breakers: {thresholds: [{retry_budget: {}, max_retries: 9}]}");
  EXPECT_EQ(said(imported, "c", "retry_budget"), "budget_percent 20, min_retry_concurrency 3");
  EXPECT_EQ(notes_with(imported, "max_retries has no equivalent: Envoy itself follows"), 1);
  EXPECT_EQ(notes_with(imported, "the retry budget is a percentage of the requests under way"), 1);
  EXPECT_EQ(notes_with(imported, "max_retries, 3"), 0);
}

TEST(ImportEnvoyCluster, OfThresholdsTheFirstOfTheDefaultPriorityCounts) {
  const Imported imported = cluster(
      "circuit_breakers: {thresholds: [{priority: HIGH, max_retries: 1}, {max_retries: 2}, "
      "{priority: DEFAULT, max_retries: 4}]}");
  EXPECT_EQ(said(imported, "c", "retry_budget.min_retry_c"), "min_retry_concurrency 2@2");
  EXPECT_EQ(notes_with(imported, "thresholds of another priority"), 1);
  EXPECT_EQ(notes_with(imported, "Envoy uses the first thresholds"), 1);
}

TEST(ImportEnvoyCluster, OutliersAreABreaker) {
  const Imported imported = import_of(From::envoy, testdata("envoy_checkout.yaml"));
  EXPECT_EQ(said(imported, "pay", "circuit_breaker"),
            "failure_rate 60@64, consecutive_failures 8@59, window 5s@60, minimum_volume 50, "
            "open_base 15s@61, open_cap 5m");
  EXPECT_EQ(notes_at(imported, {62, 5}),
            "max_ejection_percent has no equivalent: there are no hosts here, only the "
            "dependency\n");
  EXPECT_EQ(notes_with(imported, "success_rate_minimum_hosts of outlier_detection"), 1);
}

TEST(ImportEnvoyCluster, WhatEnvoyDoesNotEnforceIsLeftOut) {
  const Imported imported = cluster(
      "outlier_detection: {enforcing_consecutive_5xx: 0, failure_percentage_threshold: 40, "
      "consecutive_gateway_failure: 2}");
  EXPECT_EQ(said(imported, "c", "circuit_breaker"),
            "failure_rate 100, consecutive_failures off, window 10s, minimum_volume 1000000, "
            "open_base 30s, open_cap 5m");
  EXPECT_EQ(notes_with(imported, "failure_percentage_threshold ejects nothing"), 1);
  EXPECT_EQ(notes_with(imported, "consecutive_gateway_failure ejects nothing"), 1);
}

TEST(ImportEnvoyCluster, GatewayFailuresAreJoinedWithTheOthers) {
  const Imported imported = cluster(
      "outlier_detection: {consecutive_gateway_failure: 2, enforcing_consecutive_gateway_failure: "
      "50}");
  EXPECT_EQ(said(imported, "c", "circuit_breaker.cons"), "consecutive_failures 2@2");
  EXPECT_EQ(notes_with(imported, "consecutive_gateway_failure is joined"), 1);
  EXPECT_EQ(notes_with(imported, "enforcing_consecutive_gateway_failure becomes 100"), 1);
}

TEST(ImportEnvoyCluster, HugeNumbersAreHeld) {
  const Imported imported = cluster(
      "outlier_detection: {consecutive_5xx: 9223372036854775807, interval: 100000h, "
      "base_ejection_time: 100000h, failure_percentage_threshold: 9223372036854775807, "
      "enforcing_failure_percentage: 100}");
  EXPECT_EQ(said(imported, "c", "circuit_breaker"),
            "failure_rate 100@2, consecutive_failures 10000@2, window 1h@2, minimum_volume 50, "
            "open_base 720h@2, open_cap 720h");
}

}  // namespace
}  // namespace damper::policy
