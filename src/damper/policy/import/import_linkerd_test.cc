#include "damper/policy/import/importers.h"

#include <gtest/gtest.h>

#include "damper/policy/import/import_testing.h"

namespace damper::policy {
namespace {

TEST(ImportLinkerd, TheBooksDemo) {
  const Imported imported = import_of(From::linkerd, testdata("linkerd_books.yaml"));
  EXPECT_EQ(names_of(imported), "authors:HEAD-/authors/-id-.json authors:POST-/authors.json");
  EXPECT_EQ(said(imported, "authors:HEAD-/authors/-id-.json", ""),
            "timeout 25ms@14, retry_on \"5xx, internal, unavailable\", num_retries 99@13, "
            "base_interval 1ms, max_interval 1ms, budget_percent 20, window 10s, reserve 0, "
            "min_retries_per_second 10");
  EXPECT_EQ(said(imported, "authors:POST-/authors.json", "retry_policy"), "num_retries 0");
  EXPECT_EQ(said(imported, "authors:POST-/authors.json", "timeout"), "timeout 720h");
}

TEST(ImportLinkerd, TrapB8_AFloorForEachProxyIsNoted) {
  const Imported books = import_of(From::linkerd, testdata("linkerd_books.yaml"));
  EXPECT_EQ(notes_with(books, "minRetriesPerSecond lets every proxy retry 10 times a second"), 1);
  const Imported none = import_of(From::linkerd, testdata("linkerd_budget.yaml"));
  EXPECT_EQ(notes_with(none, "minRetriesPerSecond"), 0);
}

TEST(ImportLinkerd, TheBudgetIsOurs) {
  const Imported imported = import_of(From::linkerd, testdata("linkerd_budget.yaml"));
  EXPECT_EQ(said(imported, "webapp:GET-/books", "retry_budget"),
            "budget_percent 15@8, window 30s@10, reserve 0, min_retries_per_second 0@9");
}

TEST(ImportLinkerd, ClassesSayWhatAFailureIs) {
  const Imported imported = import_of(From::linkerd, testdata("linkerd_budget.yaml"));
  ASSERT_EQ(imported.file.routes.size(), 1U);
  const RetryOn& retry_on = imported.file.routes[0].settings.retry_on;
  EXPECT_FALSE(retry_on.excludes_http(500));
  EXPECT_TRUE(retry_on.excludes_http(503));
  EXPECT_FALSE(retry_on.excludes_http(429));
  EXPECT_TRUE(retry_on.excludes_http(404));
  EXPECT_EQ(notes_with(imported, "status 429: it says that the dependency is overloaded"), 1);
  EXPECT_EQ(notes_with(imported, "a response class has an equivalent only when"), 1);
}

TEST(ImportLinkerd, TheFirstClassThatKnowsAStatusDecides) {
  const Imported imported = import_of(From::linkerd, R"(
kind: ServiceProfile
spec:
  routes:
  - name: r
    isRetryable: true
    responseClasses:
    - { condition: { status: { min: 500, max: 502 } }, isFailure: false }
    - { condition: { status: { min: 500 } }, isFailure: true }
)");
  const RetryOn& retry_on = imported.file.routes[0].settings.retry_on;
  EXPECT_TRUE(retry_on.excludes_http(502));
  EXPECT_FALSE(retry_on.excludes_http(503));
  EXPECT_EQ(names_of(imported), "r");
}

TEST(ImportLinkerd, AProfileWithoutRoutesIsOne) {
  const Imported imported = import_of(
      From::linkerd,
      "kind: ServiceProfile\nmetadata: {name: a.b}\nspec: {retryBudget: {retryRatio: 0.5, "
      "minRetriesPerSecond: 1, ttl: 20s}}\n");
  EXPECT_EQ(names_of(imported), "a");
  EXPECT_EQ(said(imported, "a", "retry"),
            "num_retries 0, budget_percent 50@3, window 20s@3, reserve 0, "
            "min_retries_per_second 1@3");
}

TEST(ImportLinkerd, OtherKindsAreNoted) {
  const Imported imported = import_of(
      From::linkerd, testdata("linkerd_books.yaml") + "---\nkind: Service\nspec: {a: 1}\n---\n");
  EXPECT_EQ(notes_with(imported, "kind \"Service\" is not read"), 1);
}

}  // namespace
}  // namespace damper::policy
