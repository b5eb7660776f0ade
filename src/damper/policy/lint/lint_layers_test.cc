#include <gtest/gtest.h>

#include <string>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

// web > api > db, three attempts each, no budget worth the name.
std::string three_layers(const std::string& ownership, const std::string& budget) {
  return "defaults: { retry_budget: { budget_percent: " + budget +
         " }, facts: { ownership: " + ownership +
         " } }\n"
         "routes:\n"
         "  web: { facts: { calls: [api] } }\n"
         "  api: { facts: { calls: [db] } }\n"
         "  db: {}\n";
}

TEST(LintLayers, LayersThatRetryOnTheirOwnMultiply) {
  EXPECT_EQ(said_by(Rule::layered_retries, three_layers("false", "200")),
            "5:3 db: in web > api > db 3 layers retry on their own: one request can become 3 x 3 x "
            "3 = 27 attempts | retry_policy: { num_retries: 0 }   # in api, db; or carry "
            "damper-retry-owner through all layers (ownership: true): at most 3");
}

TEST(LintLayers, WithOwnershipThereIsNothingToSay) {
  EXPECT_EQ(said_by(Rule::layered_retries, three_layers("true", "200")), "");
}

TEST(LintLayers, TightBudgetsMayBeLayered) {
  EXPECT_EQ(rules_of(three_layers("false", "10")), "");  // 1.1^3 = 1.331
  EXPECT_EQ(
      said_by(Rule::layered_retries, three_layers("false", "20")),
      "5:3 db: in web > api > db 3 layers retry on their own: one request can become 1.2 x "
      "1.2 x 1.2 = 1.728 attempts | retry_policy: { num_retries: 0 }   # in api, db; or carry "
      "damper-retry-owner through all layers (ownership: true): at most 1.2");
}

TEST(LintLayers, WhatIsCalledWithoutRetryingIsStillSaidAtTheBottom) {
  EXPECT_EQ(
      said_by(Rule::layered_retries, R"(
defaults: { retry_budget: { budget_percent: 200 }, facts: { ownership: false } }
routes:
  web: { facts: { calls: [api] } }
  api: { facts: { calls: [db] } }
  db: { retry_policy: { num_retries: 0 } }
)")
          .substr(0, 103),
      "6:38 db: in web > api > db 2 layers retry on their own: one request can become 3 x 3 = "
      "9 attempts | ret");
}

TEST(LintLayers, AVeryDeepSystemIsSaidInBounds) {
  std::string text =
      "defaults: { retry_budget: { budget_percent: 200 }, facts: { ownership: false } }\nroutes:\n";
  for (int i = 0; i < 30; ++i) {
    text += "  r" + std::to_string(i) +
            (i == 29 ? ": {}\n" : ": { facts: { calls: [r" + std::to_string(i + 1) + "] } }\n");
  }
  EXPECT_EQ(
      said_by(Rule::layered_retries, text),
      "32:3 r29: in r0 > r1 > r2 > r3 > r4 > r5 > r6 > r7 > r8 > r9 > ... 30 layers retry on "
      "their own: one request can become 3 x 3 x 3 x 3 x 3 x 3 x 3 x 3 x 3 x 3 x ... = over "
      "1000000 attempts | retry_policy: { num_retries: 0 }   # in r1, r2, r3, r4, r5, r6, r7, "
      "r8, r9, r10, ...; or carry damper-retry-owner through all layers (ownership: true): at "
      "most 3");
}

TEST(LintLayers, ALayerThatOutlivesItsCallerIsNamed) {
  constexpr std::string_view kText = R"(routes:
  web:
    timeout: 3s
    retry_policy: { per_try_timeout: 1s }
    facts: { calls: [db], ownership: false }
  db: { timeout: 2s }
)";
  EXPECT_EQ(
      said_by(Rule::stacked_timeouts, kText),
      "6:18 db: it works for up to 2s, but web above it waits for 1s and does not pass on how "
      "long | timeout: 1s");
  EXPECT_EQ(said_by(Rule::stacked_timeouts,
                    "routes: {web: {timeout: 2s, facts: {calls: [db]}}, db: {timeout: 3s}}"),
            "");  // With the headers the deadline travels.
  EXPECT_EQ(said_by(Rule::stacked_timeouts,
                    "routes: {web: {timeout: 2s, facts: {calls: [db], ownership: false}}, db: "
                    "{timeout: 2s}}"),
            "");
}

}  // namespace
}  // namespace damper::policy
