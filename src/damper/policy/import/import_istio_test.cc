#include "damper/policy/import/importers.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

// A VirtualService `v` with one HTTP route of these fields.
std::string service(std::string_view fields) {
  return "kind: VirtualService\nmetadata: {name: v}\nspec: {http: [{" + std::string(fields) +
         "}]}\n";
}

TEST(ImportIstio, AServiceIsJoinedWithItsRule) {
  const Imported imported = import_of(From::istio, testdata("istio_reviews.yaml"));
  EXPECT_EQ(names_of(imported), "ratings");
  EXPECT_EQ(said(imported, "ratings", "timeout"), "timeout 10s@14");
  EXPECT_EQ(said(imported, "ratings", "retry_policy"),
            "retry_on \"connect-failure, refused-stream, retriable-status-codes\"@18, num_retries "
            "3@16, per_try_timeout 2s@17, retriable_status_codes [503]@18, base_interval 25ms, "
            "max_interval 250ms");
  EXPECT_EQ(said(imported, "ratings", "retry_budget.min_retry_c"), "min_retry_concurrency 3@29");
  EXPECT_EQ(said(imported, "ratings", "concurrency_limit"),
            "kind fixed, initial 1000@29, max 1000@29");
  EXPECT_EQ(said(imported, "ratings", "circuit_breaker"),
            "failure_rate 100, consecutive_failures 7@35, window 5m@36, open_base 15m@37, "
            "open_cap 15m");
}

TEST(ImportIstio, WithoutAWordItRetriesTwiceAndForEver) {
  const Imported imported = import_of(From::istio, service("route: [{destination: {host: a}}]"));
  EXPECT_EQ(said(imported, "v", ""),
            "timeout 720h, retry_on \"connect-failure, refused-stream, cancelled, unavailable\", "
            "num_retries 2, base_interval 25ms, max_interval 250ms, budget_percent 1000, "
            "min_retries_per_second 10000");
  EXPECT_EQ(notes_with(imported, "without retries Istio retries twice"), 1);
  EXPECT_EQ(notes_with(imported, "without a timeout Istio waits for ever"), 1);
  EXPECT_EQ(notes_with(imported, "Istio without maxRetries or retryBudget has no retry bud"), 1);
  EXPECT_EQ(imported.notes.size(), 3U);
}

TEST(ImportIstio, AListOfDocumentsIsRead) {
  const Imported imported = import_of(From::istio, testdata("istio_shop.yaml"));
  EXPECT_EQ(names_of(imported), "catalog shop/pay mail.prod.svc.cluster.local");
  EXPECT_EQ(said(imported, "catalog", "retry_budget"),
            "budget_percent 15@32, min_retry_concurrency 4@32");
  EXPECT_EQ(said(imported, "shop/pay", "retry_policy.num"), "num_retries 0@20");
  EXPECT_EQ(said(imported, "shop/pay", "timeout"), "timeout 1.5h@21");
}

TEST(ImportIstio, ARuleWithoutARouteIsOne) {
  const Imported imported = import_of(From::istio, testdata("istio_shop.yaml"));
  EXPECT_EQ(said(imported, "mail.prod.svc.cluster.local", "circuit_breaker"),
            "failure_rate 100, consecutive_failures 4@40, window 10s, open_base 30s, open_cap 5m");
  EXPECT_EQ(said(imported, "mail.prod.svc.cluster.local", "retry_policy.num"), "num_retries 2");
}

TEST(ImportIstio, WhatIsNotAboutCallsIsNotedOnce) {
  const Imported imported = import_of(From::istio, testdata("istio_shop.yaml"));
  EXPECT_EQ(notes_at(imported, {9, 5}),
            "gateways of the service has no equivalent and is left "
            "out\n");
  EXPECT_EQ(notes_at(imported, {13, 7}),
            "fault has no equivalent: faults are for damper lab, not for a policy\n");
  EXPECT_EQ(notes_at(imported, {17, 9}),
            "a route has one destination here: it has what its first says\n");
  EXPECT_EQ(notes_at(imported, {25, 7}),
            "redirect has no equivalent: no call is made here, so this route is left out\n");
  EXPECT_EQ(notes_at(imported, {42, 3}),
            "kind \"Gateway\" is not read: only VirtualService and DestinationRule are\n");
  EXPECT_EQ(imported.notes.size(), 13U);
}

TEST(ImportIstio, RetriesMayHaveAWaitOfTheirOwn) {
  const Imported imported = import_of(
      From::istio, service("retries: {attempts: 1, backoff: 10ms, retryRemoteLocalities: true}, "
                           "timeout: 1s, route: [{destination: {host: a}}]"));
  EXPECT_EQ(said(imported, "v", "retry_policy.retry_back_off"),
            "base_interval 10ms@3, max_interval 100ms");
  EXPECT_EQ(notes_with(imported, "retryRemoteLocalities has no equivalent: another host"), 1);
  EXPECT_EQ(notes_with(imported, "cancelled"), 0);  // Istio's own words.
}

TEST(ImportIstio, ATypeThatIsWrongIsAnError) {
  EXPECT_EQ(error_of(From::istio, service("timeout: soon, route: [{destination: {host: a}}]")),
            "f:3:25: timeout must be a duration such as 0.25s or 2s, not \"soon\"");
  EXPECT_EQ(error_of(From::istio, "kind: [x]\n"), "f:1:7: kind must be a word");
}

}  // namespace
}  // namespace damper::policy
