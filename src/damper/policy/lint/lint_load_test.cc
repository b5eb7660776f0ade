#include <gtest/gtest.h>

#include <string>

#include "damper/policy/lint/lint_testing.h"

namespace damper::policy {
namespace {

// HotOS'21: a database of 300/s whose clients retry once.
TEST(LintLoad, TheHiddenCapacityOfTheHotOsExampleIs150AndWithABudget272Point7) {
  EXPECT_EQ(
      said_by(Rule::hidden_capacity,
              "routes:\n"
              "  db:\n"
              "    retry_policy: { num_retries: 1 }\n"
              "    retry_budget: { budget_percent: 100 }\n"
              "    facts: { capacity: 300, load: 145 }\n"),
      "5:24 db: one request can become 2 attempts, so of the capacity of 300/s only 300 / 2 = "
      "150/s is stable | retry_budget: { budget_percent: 10 }   # 1.1 attempts: 272.7/s is "
      "stable");
  EXPECT_EQ(said_by(Rule::hidden_capacity,
                    "routes:\n"
                    "  db:\n"
                    "    retry_policy: { num_retries: 1 }\n"
                    "    facts: { capacity: 300, load: 250 }\n"),
            "4:24 db: one request can become 1.1 attempts, so of the capacity of 300/s only 300 / "
            "1.1 = 272.7/s is stable | keep the load under 272.7/s, at its peak too");
}

TEST(LintLoad, ALoadFromTheHiddenCapacityOnIsAnError) {
  const auto at = [](const char* load) {
    return rules_of(
        "route: {retry_policy: {num_retries: 1}, retry_budget: {budget_percent: 100}, "
        "facts: {capacity: 300, load: " +
        std::string(load) + "}}");
  };
  EXPECT_EQ(at("149"), "no-budget hidden-capacity");
  EXPECT_EQ(at("150"), "no-budget load-over-hidden-capacity");
  EXPECT_EQ(at("299"), "no-budget load-over-hidden-capacity");
  EXPECT_EQ(at("300"), "no-budget load-over-capacity");
  EXPECT_EQ(at("unknown"), "no-budget hidden-capacity");
}

TEST(LintLoad, TheFixSaysWhatTheBudgetWouldGiveAndWhetherThatIsEnough) {
  const std::string text =
      "route: {retry_policy: {num_retries: 1}, retry_budget: {budget_percent: 100}, "
      "facts: {capacity: 300, load: ";
  EXPECT_EQ(said_by(Rule::load_over_hidden_capacity, text + "280}}"),
            "1:107 : one request can become 2 attempts, so of the capacity of 300/s only 300 / 2 = "
            "150/s is stable; the load is 280/s, and a short trigger can leave it collapsed | "
            "retry_budget: { budget_percent: 10 }   # 1.1 attempts: 272.7/s is stable, and get a "
            "capacity over 308/s, or shed load before it");
  EXPECT_EQ(
      said_by(Rule::load_over_hidden_capacity, "route: {facts: {capacity: 300, load: 280}}"),
      "1:38 : one request can become 1.1 attempts, so of the capacity of 300/s only 300 / 1.1 "
      "= 272.7/s is stable; the load is 280/s, and a short trigger can leave it collapsed | "
      "get a capacity over 308/s, or shed load before it");
}

TEST(LintLoad, ALoadOverTheCapacityNeedsNoRetries) {
  EXPECT_EQ(
      said_by(Rule::load_over_capacity,
              "route: {retry_policy: {num_retries: 0}, facts: "
              "{capacity: 300, load: 300}}"),
      "1:70 : the load of 300/s is not under the capacity of 300/s, retries not counted | get "
      "a capacity over 300/s, or shed load before it");
}

TEST(LintLoad, WithoutRetriesAllOfTheCapacityIsThere) {
  EXPECT_EQ(rules_of("route: {retry_policy: {num_retries: 0}, facts: {capacity: 300, load: 299}}"),
            "");
}

TEST(LintLoad, TheCapacityBelowLayersIsDividedByAllOfThem) {
  EXPECT_EQ(
      said_by(Rule::hidden_capacity, R"(routes:
  web: { retry_budget: { budget_percent: 200 }, facts: { calls: [db], ownership: false } }
  db: { retry_budget: { budget_percent: 200 }, facts: { capacity: 900 } }
)"),
      "3:67 db: one request can become 9 attempts, so of the capacity of 900/s only 900 / 9 = "
      "100/s is stable | let one layer retry (see layered-retries)   # 3 attempts: 300/s is "
      "stable");
}

TEST(LintLoad, ABudgetThatNeverRefusesIsNone) {
  EXPECT_EQ(
      said_by(Rule::no_budget, "route: {retry_budget: {budget_percent: 200}}"),
      "1:40 : a budget of 200 % refuses nothing: in an outage each request becomes 3 attempts "
      "| retry_budget: { budget_percent: 10 }   # 1.1 attempts");
  EXPECT_EQ(rules_of("route: {retry_budget: {budget_percent: 199.99}}"), "amplification");
  EXPECT_EQ(rules_of("route: {retry_policy: {num_retries: 0}, retry_budget: {budget_percent: "
                     "1000}}"),
            "");
}

TEST(LintLoad, AFloorIsNamedWithWhatItDoesToAFleet) {
  EXPECT_EQ(
      said_by(Rule::retry_floor, "route: {retry_budget: {min_retries_per_second: 10}}"),
      "1:48 : each client has 10 retries a second whatever it sends: a fleet of quiet clients "
      "makes 3 attempts of each request, and not 1.1 | retry_budget: { "
      "min_retries_per_second: 0 }   # 1.1 attempts");
  EXPECT_EQ(said_by(Rule::retry_floor,
                    "route: {retry_budget: {min_retries_per_second: 10, budget_percent: 20}, "
                    "facts: {load: 1000, clients: 50}}"),
            "1:48 : 10 retries a second for each of 50 clients, at a load of 1000/s: 1.7 attempts "
            "for each request, and not the 1.2 of the budget | retry_budget: { budget_percent: 10, "
            "min_retries_per_second: 0 }   # 1.1 attempts");
}

TEST(LintLoad, AFloorThatTheLoadDwarfsIsNoFinding) {
  EXPECT_EQ(rules_of("route: {retry_budget: {min_retries_per_second: 10}, facts: {load: 101}}"),
            "");
  EXPECT_EQ(rules_of("route: {retry_budget: {min_retries_per_second: 10}, facts: {load: 99}}"),
            "retry-floor");
}

TEST(LintLoad, AWideBudgetIsNamedFromOneAndAHalfOn) {
  EXPECT_EQ(said_by(Rule::amplification, "route: {retry_budget: {budget_percent: 50}}"),
            "1:40 : one request can become 1.5 attempts: in an outage that much more than the load "
            "reaches the dependency | retry_budget: { budget_percent: 10 }   # 1.1 attempts");
  EXPECT_EQ(rules_of("route: {retry_budget: {budget_percent: 49.99}}"), "");
}

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

// It was "retry_budget: {  }   # 1 attempts".
TEST(LintLoad, TheFixIsInTheLayerThatRetries) {
  EXPECT_EQ(
      said_by(Rule::load_over_hidden_capacity,
              "routes:\n"
              "  web:\n"
              "    retry_policy: { num_retries: 1 }\n"
              "    retry_budget: { budget_percent: 100 }\n"
              "    facts: { calls: [db] }\n"
              "  db:\n"
              "    retry_policy: { num_retries: 0 }\n"
              "    facts: { capacity: 300, load: 200 }\n"),
      "8:35 db: one request can become 2 attempts, so of the capacity of 300/s only 300 / 2 = "
      "150/s is stable; the load is 200/s, and a short trigger can leave it collapsed | "
      "retry_budget: { budget_percent: 10 } in web   # 1.1 attempts: 272.7/s is stable");
}

}  // namespace

}  // namespace damper::policy
