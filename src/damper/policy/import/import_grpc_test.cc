#include "damper/policy/import/importers.h"

#include <gtest/gtest.h>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

TEST(ImportGrpc, TheUsualExample) {
  const Imported imported = import_of(From::grpc, testdata("grpc_retry.json"));
  EXPECT_EQ(names_of(imported), "helloworld.Greeter");
  EXPECT_EQ(said(imported, "helloworld.Greeter", ""),
            "timeout 720h, retry_on \"unavailable\"@11, num_retries 3@7, base_interval 100ms@8, "
            "max_interval 1s@9, budget_percent 1000, min_retries_per_second 10000");
  EXPECT_EQ(notes_at(imported, {5, 7}),
            "waitForReady has no equivalent: a request that cannot be sent is retried as retry_on "
            "says\n");
  EXPECT_EQ(imported.notes.size(), 5U);
}

TEST(ImportGrpc, EachNameIsARouteOfTheSamePolicy) {
  const Imported imported = import_of(From::grpc, testdata("grpc_mixed.json"));
  EXPECT_EQ(names_of(imported), "shop.Cart/Get shop.Cart/List shop.Search default");
  EXPECT_EQ(said(imported, "shop.Cart/Get", "retry_policy"),
            "retry_on \"internal, resource-exhausted, unavailable\"@16, num_retries 4@12, "
            "base_interval 20ms@13, max_interval 20ms@14");
  EXPECT_EQ(said(imported, "shop.Cart/List", ""), said(imported, "shop.Cart/Get", ""));
  EXPECT_EQ(said(imported, "default", "retry_policy"), "num_retries 0");
  EXPECT_EQ(imported.file.routes[1].place, (config::SourceLocation{7, 9}));
}

TEST(ImportGrpc, ThrottlingIsABudgetOfSuccessesWithAReserve) {
  const Imported imported = import_of(From::grpc, testdata("grpc_mixed.json"));
  EXPECT_EQ(said(imported, "default", "retry_budget"),
            "budget_percent 10@30, reserve 5@30, deposit_on success");
  EXPECT_EQ(notes_with(imported,
                       "tokens become a budget: tokenRatio of the successes in 10s, and half of "
                       "maxTokens in reserve, which successes refill one for one. It differs "
                       "from gRPC's rule"),
            1);
  EXPECT_EQ(notes_with(imported, "gRPC without retryThrottling"), 0);
}

TEST(ImportGrpc, HedgingIsAfterItsDelay) {
  const Imported imported = import_of(From::grpc, testdata("grpc_mixed.json"));
  EXPECT_EQ(said(imported, "shop.Search", "retry_policy"),
            "retry_on \"internal, unavailable\"@25, num_retries 2@23");
  EXPECT_EQ(said(imported, "shop.Search", "hedge_policy"),
            "max_hedges 2@24, additional_request_chance { numerator: 10000, denominator: "
            "TEN_THOUSAND }, quantile 50, floor 50ms@24, min_samples 1");
}

TEST(ImportGrpc, AllHedgesAtOnceBecomeOneAfterTheOther) {
  const Imported imported = import_of(
      From::grpc, "{methodConfig: [{name: [{}], timeout: 1s, hedgingPolicy: {maxAttempts: 2}}]}");
  EXPECT_EQ(said(imported, "default", "hedge_policy.floor"), "floor 1ms");
  EXPECT_EQ(notes_with(imported, "all at once would be several times the load"), 1);
}

TEST(ImportGrpc, WhatIsNotTheSameIsNoted) {
  const Imported imported = import_of(From::grpc, testdata("grpc_mixed.json"));
  EXPECT_EQ(notes_at(imported, {2, 3}),
            "loadBalancingConfig has no equivalent: one dependency has one address here\n");
  EXPECT_EQ(notes_at(imported, {10, 7}),
            "maxRequestMessageBytes of methodConfig has no equivalent and is left out\n");
  EXPECT_EQ(notes_with(imported, "gRPC holds maxAttempts at 5"), 1);
  EXPECT_EQ(notes_with(imported, "backoffMultiplier has no equivalent"), 1);
  EXPECT_EQ(notes_with(imported, "the wait is drawn from its whole interval here"), 1);
  EXPECT_EQ(notes_with(imported, "gRPC retries every method"), 1);
  EXPECT_EQ(imported.notes.size(), 11U);
}

TEST(ImportGrpc, AMultiplierOfTwoIsOurs) {
  const Imported imported = import_of(From::grpc, testdata("grpc_retry.json"));
  EXPECT_EQ(notes_with(imported, "backoffMultiplier"), 0);
}

TEST(ImportGrpc, OfATxtRecordTheFirstChoiceIsRead) {
  const Imported imported = import_of(
      From::grpc,
      "[{clientLanguage: [go], serviceConfig: {methodConfig: [{name: [{service: s}], timeout: "
      "1s}]}},\n {serviceConfig: {methodConfig: [{name: [{service: t}]}]}}]");
  EXPECT_EQ(names_of(imported), "s");
  EXPECT_EQ(notes_at(imported, {2, 2}), "only the first of the choices is imported\n");
  EXPECT_EQ(notes_with(imported, "clientLanguage of the service config"), 1);
}

TEST(ImportGrpc, AConfigWithoutNamesHoldsForNothing) {
  const Imported imported =
      import_of(From::grpc, "{methodConfig: [{timeout: 1s}, {name: [{service: s}], timeout: 1s}]}");
  EXPECT_EQ(names_of(imported), "s");
  EXPECT_EQ(notes_with(imported, "a methodConfig without names"), 1);
}

TEST(ImportGrpc, ATypeThatIsWrongIsAnError) {
  EXPECT_EQ(error_of(From::grpc, "{methodConfig: [{name: [{service: s}], timeout: 1}]}"),
            "f:1:49: timeout must be a duration such as 0.25s or 2s, not \"1\"");
  EXPECT_EQ(error_of(From::grpc, "{methodConfig: {}}"), "f:1:16: method_config must be a list");
}

}  // namespace
}  // namespace damper::policy
