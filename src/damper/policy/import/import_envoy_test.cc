#include "damper/policy/import/importers.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

// A route table with one virtual host, `h`, and the routes.
std::string table(std::string_view routes) {
  return "virtual_hosts: [{name: h, domains: ['*'], routes: [" + std::string(routes) + "]}]";
}

TEST(ImportEnvoy, AFrontProxyHasEnvoysDefaults) {
  const Imported imported = import_of(From::envoy, testdata("envoy_front_proxy.yaml"));
  EXPECT_EQ(names_of(imported), "backend/service/1 backend/service/2");
  EXPECT_EQ(said(imported, "backend/service/1", ""),
            "timeout 15s, retry_on \"5xx\"@26, num_retries 1, base_interval 25ms, max_interval "
            "250ms, budget_percent 0, min_retries_per_second 10000, min_retry_concurrency 3, kind "
            "fixed, initial 1024, max 1024");
  EXPECT_EQ(said(imported, "backend/service/2", "retry_policy"), "num_retries 0");
  EXPECT_EQ(imported.file.routes[0].settings.policy.call.max_attempts, 2);
  EXPECT_EQ(imported.file.routes[1].settings.policy.call.max_attempts, 1);
  EXPECT_EQ(imported.file.routes[1].place, (config::SourceLocation{27, 17}));
}

TEST(ImportEnvoy, WhatEnvoyDoesUnsaidIsNoted) {
  const Imported imported = import_of(From::envoy, testdata("envoy_front_proxy.yaml"));
  EXPECT_EQ(notes_at(imported, {23, 17}), "without a timeout Envoy gives a request 15s\n");
  EXPECT_EQ(notes_at(imported, {27, 17}),
            "without a retry_policy Envoy does not retry: num_retries becomes 0\n");
  EXPECT_EQ(notes_at(imported, {26, 33}),
            "without num_retries Envoy retries once\n"
            "without retry_back_off Envoy waits up to 25ms, doubled to at most 250ms\n"
            "Envoy retries every method; here a request that is not idempotent is retried only "
            "when it surely never left\n");
}

TEST(ImportEnvoy, ABlockThatHasNoEquivalentIsOneNote) {
  const Imported imported = import_of(From::envoy, testdata("envoy_front_proxy.yaml"));
  EXPECT_EQ(notes_at(imported, {2, 1}), "admin of the file has no equivalent and is left out\n");
  EXPECT_EQ(notes_at(imported, {31, 11}),
            "http_filters of the connection manager has no equivalent and is left out\n");
  EXPECT_EQ(imported.notes.size(), 16U);
}

TEST(ImportEnvoy, ARedirectMakesNoCall) {
  const Imported imported = import_of(From::envoy, testdata("envoy_front_proxy.yaml"));
  EXPECT_EQ(notes_at(imported, {30, 17}),
            "redirect has no equivalent: no call is made, so this route is left out\n");
}

TEST(ImportEnvoy, ARouteHasItsVirtualHostsRetriesUnlessItHasItsOwn) {
  const Imported imported = import_of(From::envoy, testdata("envoy_checkout.yaml"));
  EXPECT_EQ(names_of(imported), "pay quote split");
  EXPECT_EQ(said(imported, "pay", "retry_policy"),
            "retry_on \"gateway-error, connect-failure\"@9, num_retries 2@10, per_try_timeout "
            "1.5s@11, base_interval 25ms, max_interval 250ms");
  EXPECT_EQ(said(imported, "quote", "retry_policy"),
            "retry_on \"5xx, reset, retriable-4xx, retriable-status-codes\"@26, num_retries 99@28, "
            "per_try_timeout off@29, retriable_status_codes [429, 503]@26, base_interval 50ms@31, "
            "max_interval 1s@31");
  EXPECT_EQ(notes_with(imported, "retry_on's \"retriable-headers\" has no equivalent"), 1);
}

TEST(ImportEnvoy, ARouteHasWhatItsClusterSays) {
  const Imported imported = import_of(From::envoy, testdata("envoy_checkout.yaml"));
  EXPECT_EQ(said(imported, "pay", "retry_budget"),
            "budget_percent 0, min_retries_per_second 10000, min_retry_concurrency 7@57");
  EXPECT_EQ(said(imported, "quote", "retry_budget"),
            "budget_percent 25.5@71, min_retry_concurrency 5@71");
  EXPECT_EQ(said(imported, "split", "retry_budget"), said(imported, "quote", "retry_budget"));
  EXPECT_EQ(notes_with(imported,
                       "weighted_clusters has no equivalent: the route has what its "
                       "first cluster says, \"quotes\""),
            1);
}

TEST(ImportEnvoy, ATimeoutOfZeroIsNone) {
  const Imported imported = import_of(From::envoy, testdata("envoy_checkout.yaml"));
  EXPECT_EQ(said(imported, "pay", "timeout"), "timeout 720h@18");
  EXPECT_EQ(said(imported, "quote", "timeout"), "timeout 800ms@24");
}

TEST(ImportEnvoy, AHedgeAtThePerTryTimeoutStandsForIt) {
  const Imported imported = import_of(From::envoy, testdata("envoy_checkout.yaml"));
  EXPECT_EQ(said(imported, "quote", "hedge_policy.max"), "max_hedges 3@29");
  EXPECT_EQ(said(imported, "quote", "hedge_policy.floor"), "floor 250ms@29");
  EXPECT_EQ(said(imported, "pay", "hedge_policy"), "");
}

TEST(ImportEnvoy, AHedgeWithoutAPerTryTimeoutIsNone) {
  const Imported imported = import_of(
      From::envoy, table("{match: {prefix: /}, route: {cluster: c, retry_policy: {retry_on: 5xx}, "
                         "hedge_policy: {hedge_on_per_try_timeout: true, initial_requests: 2}}}"));
  EXPECT_EQ(said(imported, "h", "hedge_policy"), "");
  EXPECT_EQ(notes_with(imported, "hedge_on_per_try_timeout needs a per_try_timeout"), 1);
  EXPECT_EQ(notes_with(imported, "initial_requests has no equivalent but 1"), 1);
}

TEST(ImportEnvoy, ARetryPolicyWithoutWordsRetriesNothing) {
  const Imported imported =
      import_of(From::envoy, table("{match: {prefix: /}, route: {cluster: c, retry_policy: {}}}"));
  EXPECT_EQ(said(imported, "h", "retry_policy.retry_on"), "retry_on \"\"@1");
  EXPECT_EQ(notes_with(imported, "retry_policy has no retry_on"), 1);
}

TEST(ImportEnvoy, AClusterThatTheFileLacksHasTheDefaults) {
  const Imported imported = import_of(
      From::envoy, table("{match: {prefix: /a}, route: {cluster: c}}, {match: {prefix: /b}, route: "
                         "{cluster: c}}"));
  EXPECT_EQ(names_of(imported), "h/a h/b");
  EXPECT_EQ(notes_with(imported, "cluster \"c\" is not in this file"), 1);
  EXPECT_EQ(said(imported, "h/b", "concurrency_limit"), "kind fixed, initial 1024, max 1024");
}

TEST(ImportEnvoy, AClusterWithoutARouteIsOne) {
  const Imported imported =
      import_of(From::envoy, "clusters: [{name: c, outlier_detection: {consecutive_5xx: 9}}]");
  EXPECT_EQ(names_of(imported), "c");
  EXPECT_EQ(said(imported, "c", "retry_policy"), "num_retries 0");
  EXPECT_EQ(said(imported, "c", "circuit_breaker.cons"), "consecutive_failures 9@1");
  EXPECT_EQ(notes_with(imported, "no route in this file leads to cluster \"c\""), 1);
}

TEST(ImportEnvoy, EveryShapeOfAFileIsRead) {
  const std::string host =
      "{name: h, domains: ['*'], routes: [{match: {prefix: /}, route: "
      "{cluster: c, retryPolicy: {retryOn: 5xx, numRetries: 4}}}]}";
  const std::string routes = "{virtual_hosts: [" + host + "]}";
  const std::string listener =
      "{filter_chains: [{filters: [{name: x, typed_config: {route_config: " + routes + "}}]}]}";
  for (const std::string& text :
       {host, routes, "route_config: " + routes, listener, "listeners: [" + listener + "]",
        "static_resources: {listeners: [" + listener + "]}", "resources: [" + routes + "]",
        "{default_filter_chain: {filters: [{typedConfig: {routeConfig: " + routes +
            "}}]}, filter_chains: []}",
        routes + "\n---\nclusters: []"}) {
    const Imported imported = import_of(From::envoy, text);
    EXPECT_EQ(said(imported, "h", "retry_policy.num_retries").substr(0, 13), "num_retries 4")
        << text;
  }
}

TEST(ImportEnvoy, RoutesThatAreElsewhereAreNoted) {
  const std::string text =
      "listeners: [{filter_chains: [{filters: [{typed_config: {rds: {route_config_name: r}}}, "
      "{name: tcp, typed_config: {cluster: c}}]}]}]\nclusters: [{name: c}]";
  const Imported imported = import_of(From::envoy, text);
  EXPECT_EQ(notes_with(imported, "rds has no equivalent: its routes are not in this file"), 1);
  EXPECT_EQ(notes_with(imported, "filter \"tcp\" has no routes and is left out"), 1);
}

TEST(ImportEnvoy, ATypeThatIsWrongIsAnError) {
  EXPECT_EQ(error_of(From::envoy, table("{route: {cluster: c, timeout: [1]}}")),
            "f:1:82: timeout must be a duration such as 0.25s or 2s");
  EXPECT_EQ(error_of(From::envoy, "virtual_hosts: 3"),
            "f:1:16: virtual_hosts must be a list, not \"3\"");
  EXPECT_EQ(error_of(From::envoy, "[]"), "f:1:1: the file must be a map of fields");
}

}  // namespace
}  // namespace damper::policy
