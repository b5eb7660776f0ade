#include "damper/policy/lint/amplification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::policy {
namespace {

Route route(std::string name, std::vector<std::string> called) {
  Route route;
  route.name = std::move(name);
  route.settings.facts.emplace().calls = std::move(called);
  return route;
}

std::string error_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  return file ? "ok" : to_string(file.error());
}

TEST(Calls, AreThePositionsOfTheNamesEachOnce) {
  const std::vector<Route> routes = {route("web", {"db", "cache", "db", "nobody"}),
                                     route("cache", {}), route("db", {"cache"})};
  EXPECT_EQ(calls(routes), (std::vector<std::vector<std::size_t>>{{2, 1}, {}, {1}}));
}

TEST(Calls, CallersComeBeforeWhomTheyCall) {
  EXPECT_EQ(callers_first({{}, {0}, {0, 1}}), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(callers_first({{1}, {3}, {3}, {}}), (std::vector<std::size_t>{0, 2, 1, 3}));
}

TEST(Calls, WhatIsInACycleOrBelowOneIsNotInTheOrder) {
  EXPECT_EQ(callers_first({{1}, {2}, {1, 3}, {}}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(callers_first({{0}}), (std::vector<std::size_t>{}));
}

TEST(Calls, ARouteThatIsNotThereIsAnErrorWithTheNearest) {
  EXPECT_EQ(error_of("routes:\n  web: {facts: {calls: [inventry]}}\n  inventory: {}\n"),
            "p.yaml:2:24: calls names \"inventry\", which is no route of this file; did you mean "
            "inventory?");
  EXPECT_EQ(error_of("route: {facts: {calls: [db]}}"),
            "p.yaml:1:24: calls names \"db\", which is no route of this file");
}

TEST(Calls, ACycleIsAnErrorThatNamesIt) {
  EXPECT_EQ(error_of("routes:\n"
                     "  top: {facts: {calls: [a]}}\n"
                     "  a: {facts: {calls: [b]}}\n"
                     "  b: {facts: {calls: [below, c]}}\n"
                     "  c: {facts: {calls: [a]}}\n"
                     "  below: {}\n"),
            "p.yaml:3:22: calls goes round in a circle: a > b > c > a; a service cannot be below "
            "itself");
  EXPECT_EQ(error_of("routes: {a: {facts: {calls: [a]}}}"),
            "p.yaml:1:29: calls goes round in a circle: a > a; a service cannot be below itself");
  EXPECT_EQ(error_of("routes: {a: {facts: {calls: [b, c]}}, b: {facts: {calls: [c]}}, c: {}}"),
            "ok");
}

TEST(Calls, ALongCycleIsCutOff) {
  std::string text = "routes:\n";
  for (int i = 0; i < 1000; ++i) {
    text += "  r" + std::to_string(i) + ": {facts: {calls: [r" + std::to_string((i + 1) % 1000) +
            "]}}\n";
  }
  EXPECT_EQ(error_of(text),
            "p.yaml:2:23: calls goes round in a circle: r0 > r1 > r2 > r3 > r4 > r5 > r6 > r7 > r8 "
            "> r9 > ...; a service cannot be below itself");
}

Settings attempts(int most, Percent budget) {
  Settings settings;
  settings.policy.call.max_attempts = most;
  settings.policy.budget.percent = budget;
  return settings;
}
Settings with_floor(int per_second, double load, std::int64_t clients) {
  Settings settings;
  settings.policy.budget.min_per_second = per_second;
  settings.facts.emplace();
  settings.facts->load = load;
  settings.facts->clients = clients;
  return settings;
}

TEST(WorstAttempts, AreTheCapOrTheBudgetWhicheverIsLower) {
  EXPECT_EQ(worst_attempts(Settings{}), 1.1);  // The default: three attempts, a budget of 10 %.
  EXPECT_EQ(worst_attempts(attempts(1, Percent(10))), 1);
  EXPECT_EQ(worst_attempts(attempts(2, Percent(100))), 2);
  EXPECT_EQ(worst_attempts(attempts(3, Percent(1000))), 3);
  EXPECT_EQ(worst_attempts(attempts(100, Percent(50))), 1.5);
  EXPECT_EQ(worst_attempts(attempts(3, Percent(0))), 1);
}

TEST(WorstAttempts, AFloorCountsOnceForEachClient) {
  EXPECT_EQ(worst_attempts(with_floor(10, 1000, 1)), 1.1 + 0.01);
  EXPECT_EQ(worst_attempts(with_floor(10, 1000, 50)), 1.6);
  EXPECT_EQ(worst_attempts(with_floor(10, 1000, 500)), 3);  // The cap.
}

TEST(WorstAttempts, AFloorAtAnUnknownLoadPaysForEverything) {
  EXPECT_EQ(worst_attempts(with_floor(1, 0, 1)), 3);
  Settings without_facts;
  without_facts.policy.budget.min_per_second = 1;
  EXPECT_EQ(worst_attempts(without_facts), 3);
}

TEST(WorstAttempts, WhereNothingIsRetriedTheHedgesCount) {
  Settings settings = attempts(3, Percent(10));
  settings.policy.call.retryable = {};
  EXPECT_EQ(worst_attempts(settings), 1);
  EXPECT_EQ(most_extra_attempts(settings), 0);
  settings.policy.call.hedge.max_hedges = 1;
  EXPECT_EQ(worst_attempts(settings), 1.05);  // Their ratio.
  EXPECT_EQ(most_extra_attempts(settings), 1);
  settings.policy.call.hedge.ratio = Percent(100);
  EXPECT_EQ(worst_attempts(settings), 1.1);  // They pay the budget too.
}

TEST(HasNoBudget, WhenItPaysForEveryAttemptOrIsAsWideAsItCanBe) {
  EXPECT_FALSE(has_no_budget(Settings{}));
  EXPECT_FALSE(has_no_budget(attempts(3, Percent::from_hundredths(19'999))));
  EXPECT_TRUE(has_no_budget(attempts(3, Percent(200))));
  EXPECT_TRUE(has_no_budget(attempts(2, Percent(100))));
  EXPECT_TRUE(has_no_budget(attempts(100, Percent(1000))));
  EXPECT_FALSE(has_no_budget(attempts(100, Percent(999))));
  EXPECT_FALSE(has_no_budget(attempts(1, Percent(1000))));  // There is nothing to refuse.
}

// HotOS'21: a database of 300/s.
TEST(HiddenCapacity, IsTheCapacityDividedByTheWorst) {
  EXPECT_EQ(hidden_capacity(300, worst_attempts(attempts(2, Percent(100)))), 150);
  EXPECT_NEAR(hidden_capacity(300, worst_attempts(attempts(2, Percent(10)))), 272.73, 0.003);
  EXPECT_EQ(hidden_capacity(300, 1), 300);
}

// A chain of `depth` layers, each the caller of the next.
std::vector<Layer> chain(std::size_t depth, double attempts, bool carries) {
  std::vector<Layer> layers(depth, Layer{.attempts = attempts, .carries = carries, .calls = {}});
  for (std::size_t i = 0; i + 1 < depth; ++i) layers[i].calls = {i + 1};
  return layers;
}
double bottom(const std::vector<Layer>& layers) { return amplify(layers).back().attempts; }

TEST(Amplify, LayersMultiply) {
  EXPECT_EQ(bottom(chain(3, 3, false)), 27);
  EXPECT_EQ(bottom(chain(3, 4, false)), 64);
  EXPECT_EQ(bottom(chain(5, 3, false)), 243);
  EXPECT_DOUBLE_EQ(bottom(chain(3, 1.1, false)), 1.331);
  EXPECT_DOUBLE_EQ(bottom(chain(5, 1.1, false)), 1.61051);
}

TEST(Amplify, WithOwnershipOneLayerRetries) {
  EXPECT_EQ(bottom(chain(3, 3, true)), 3);
  EXPECT_EQ(bottom(chain(5, 1.1, true)), 1.1);
}

TEST(Amplify, SaysThePathAndWhoRetriesOnIt) {
  std::vector<Layer> layers = chain(4, 3, false);
  layers[1].attempts = 1;
  const Amplified worst = amplify(layers).back();
  EXPECT_EQ(worst.attempts, 27);
  EXPECT_EQ(worst.path, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(worst.retrying, (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(amplify(layers)[0].path, (std::vector<std::size_t>{0}));
}

TEST(Amplify, ALayerThatDoesNotCarryTheOwnerBreaksTheChain) {
  std::vector<Layer> layers = chain(3, 3, true);
  layers[1].carries = false;  // It retries although 0 owns, and 2 does not hear of either.
  EXPECT_EQ(bottom(layers), 27);
  layers[1].attempts = 1;  // It only drops the header: 0 and 2 retry.
  EXPECT_EQ(bottom(layers), 9);
}

TEST(Amplify, ALayerThatDoesNotRetryOwnsNothingButPassesTheOwnerOn) {
  std::vector<Layer> layers = chain(3, 3, true);
  layers[0].attempts = 1;
  EXPECT_EQ(bottom(layers), 3);  // 1 owns them.
  EXPECT_EQ(amplify(layers).back().retrying.size(), 1u);
  layers = chain(3, 3, true);
  layers[1].attempts = 1;
  EXPECT_EQ(bottom(layers), 3);
}

TEST(Amplify, TakesTheWorstOfSeveralCallers) {
  std::vector<Layer> layers(4);
  layers[0] = {.attempts = 2, .carries = false, .calls = {3}};
  layers[1] = {.attempts = 5, .carries = false, .calls = {3}};
  layers[2] = {.attempts = 4, .carries = false, .calls = {3}};
  layers[3] = {.attempts = 2, .carries = true, .calls = {}};
  const Amplified worst = amplify(layers)[3];
  EXPECT_EQ(worst.attempts, 10);
  EXPECT_EQ(worst.path, (std::vector<std::size_t>{1, 3}));
}

TEST(Amplify, ACallerThatAddsNothingIsNotOnThePath) {
  std::vector<Layer> layers = chain(2, 3, true);
  EXPECT_EQ(amplify(layers)[1].path, (std::vector<std::size_t>{1}));
}

TEST(Amplify, IsBounded) { EXPECT_EQ(bottom(chain(1000, 100, false)), kMostAmplified); }

TEST(Amplify, LayersOfACycleAreTakenAlone) {
  std::vector<Layer> layers = chain(4, 3, false);
  layers[2].calls = {1, 3};
  const auto found = amplify(layers);
  for (const Amplified& layer : found) EXPECT_EQ(layer.attempts, 3);
  EXPECT_EQ(found[3].path, (std::vector<std::size_t>{3}));
}

// The same by walking every path.
double walked(const std::vector<Layer>& layers, std::size_t target, std::size_t at, double product,
              bool owned) {
  const Layer& layer = layers[at];
  const bool sends_once = owned && layer.carries;
  product *= sends_once ? 1 : layer.attempts;
  if (at == target) return product;
  const bool below = layer.carries && (owned || layer.attempts > 1);
  double worst = 0;
  for (const std::size_t i : layer.calls) {
    worst = std::max(worst, walked(layers, target, i, product, below));
  }
  return worst;
}

// Invariants (1) and (2), and that the worst of all paths is found.
TEST(Amplify, IsTheWorstOfAllPaths) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<Layer> layers(7);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i].attempts = 1 + static_cast<double>(random.bits() % 3);
      layers[i].carries = random.draw() < 0.5;
      for (std::size_t j = i + 1; j < layers.size(); ++j) {
        if (random.draw() < 0.4) layers[i].calls.push_back(j);
      }
    }
    const auto found = amplify(layers);
    for (std::size_t target = 0; target < layers.size(); ++target) {
      double worst = 0;
      for (std::size_t start = 0; start <= target; ++start) {
        worst = std::max(worst, walked(layers, target, start, 1, false));
      }
      ASSERT_EQ(found[target].attempts, worst) << "seed " << seed << " layer " << target;
      double product = 1;
      for (const std::size_t i : found[target].retrying) product *= layers[i].attempts;
      ASSERT_EQ(product, worst) << "seed " << seed << " layer " << target;
      ASSERT_EQ(found[target].path.back(), target) << "seed " << seed;
    }
    for (Layer& layer : layers) layer.carries = true;
    for (const Amplified& layer : amplify(layers)) ASSERT_LE(layer.attempts, 3) << "seed " << seed;
  }
}

TEST(LayersOf, AreTheRoutesWithTheirOwnWorst) {
  const auto file = load(
      "routes:\n"
      "  web: {facts: {calls: [db], ownership: false}}\n"
      "  db: {retry_budget: {budget_percent: 50}}\n",
      "p.yaml");
  ASSERT_TRUE(file);
  const std::vector<Layer> layers = layers_of(file->routes);
  EXPECT_EQ(layers[0].attempts, 1.1);
  EXPECT_FALSE(layers[0].carries);
  EXPECT_EQ(layers[0].calls, (std::vector<std::size_t>{1}));
  EXPECT_EQ(layers[1].attempts, 1.5);
  EXPECT_TRUE(layers[1].carries);
}

}  // namespace

}  // namespace damper::policy
