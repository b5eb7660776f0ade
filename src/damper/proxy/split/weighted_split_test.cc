#include "damper/proxy/split/weighted_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/proxy/split/hash_policy.h"

namespace damper::proxy {
namespace {

using Weights = std::vector<ClusterWeight>;

constexpr int kKeys = 100'000;

std::string chosen(const Weights& weights, std::optional<std::uint64_t> key, double draw = 0) {
  return weights[WeightedSplit(weights).pick(key, draw)].cluster;
}

std::vector<std::string> of_keys(const Weights& weights) {
  const WeightedSplit split(weights);
  std::vector<std::string> clusters;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint64_t key = hash_key_of("user-" + std::to_string(i));
    clusters.push_back(weights[split.pick(key, 0)].cluster);
  }
  return clusters;
}

double share(const std::vector<std::string>& clusters, const std::string& cluster) {
  return static_cast<double>(std::count(clusters.begin(), clusters.end(), cluster)) / kKeys;
}

TEST(WeightedSplit, ADrawIsDividedByTheWeights) {
  const Weights weights = {{"a", 1}, {"b", 2}, {"c", 1}};
  EXPECT_EQ(chosen(weights, {}, 0), "a");
  EXPECT_EQ(chosen(weights, {}, 0.249), "a");
  EXPECT_EQ(chosen(weights, {}, 0.25), "b");
  EXPECT_EQ(chosen(weights, {}, 0.749), "b");
  EXPECT_EQ(chosen(weights, {}, 0.75), "c");
  EXPECT_EQ(chosen(weights, {}, 0.9999999999999999), "c");
}

// Invariant (1)
TEST(WeightedSplit, AWeightOf0GetsNothing) {
  const Weights weights = {{"a", 0}, {"b", 1}, {"c", 0}, {"d", 3}, {"e", 0}};
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    for (const std::string& one :
         {chosen(weights, {}, random.draw()), chosen(weights, random.bits())}) {
      EXPECT_TRUE(one == "b" || one == "d") << one;
    }
  }
  EXPECT_EQ(chosen(weights, {}, 0), "b");
  EXPECT_EQ(chosen(weights, {}, 0.9999999999999999), "d");
  EXPECT_EQ(chosen({{"a", 0}, {"b", 7}}, 42), "b");
}

TEST(WeightedSplit, KeysAreDividedByTheWeights) {
  // The standard deviation of a share is at most 0.0016.
  const auto clusters = of_keys({{"a", 90}, {"b", 9}, {"c", 1}});
  EXPECT_NEAR(share(clusters, "a"), 0.90, 0.008);
  EXPECT_NEAR(share(clusters, "b"), 0.09, 0.008);
  EXPECT_NEAR(share(clusters, "c"), 0.01, 0.004);
}

TEST(WeightedSplit, KeysThatDifferInOneBitAreDividedToo) {
  const Weights weights = {{"stable", 1}, {"canary", 1}};
  const WeightedSplit split(weights);
  int first = 0;
  for (std::uint64_t key = 0; key < 10'000; ++key) first += split.pick(key, 0) == 0 ? 1 : 0;
  EXPECT_NEAR(first, 5000, 400);
  first = 0;
  for (std::uint64_t key = 0; key < 10'000; ++key) first += split.pick(key << 50, 0) == 0 ? 1 : 0;
  EXPECT_NEAR(first, 5000, 400);
}

// Invariant (2)
TEST(WeightedSplit, TheOrderAndTheScaleOfTheWeightsDoNotMatter) {
  const auto clusters = of_keys({{"a", 90}, {"b", 9}, {"c", 1}});
  EXPECT_EQ(of_keys({{"c", 1}, {"a", 90}, {"b", 9}}), clusters);
  EXPECT_EQ(of_keys({{"b", 18}, {"x", 0}, {"c", 2}, {"a", 180}}), clusters);
}

// Invariant (2): these values must never change, or the proxies of two versions disagree.
TEST(WeightedSplit, EveryProxySelectsTheSame) {
  EXPECT_EQ(hash_key_of(""), 10513052028119013997U);
  EXPECT_EQ(hash_key_of("user-1"), 720606138317868293U);
  std::string clusters;
  for (int i = 0; i < 32; ++i) {
    clusters += chosen({{"a", 2}, {"b", 1}, {"c", 1}}, hash_key_of(std::to_string(i)));
  }
  EXPECT_EQ(clusters, "caabaabaaccbabaabcbcaacbcbabaaba");
}

// Invariant (3)
TEST(WeightedSplit, OnlyTheShareThatHasToMoveMoves) {
  const auto before = of_keys({{"a", 80}, {"b", 10}, {"c", 10}});
  const auto grown = of_keys({{"a", 80}, {"b", 20}, {"c", 10}});
  int moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == grown[i]) continue;
    EXPECT_EQ(grown[i], "b");
    ++moved;
  }
  EXPECT_NEAR(moved / double{kKeys}, 20.0 / 110 - 0.1, 0.008);
  const auto added = of_keys({{"a", 80}, {"b", 10}, {"c", 10}, {"d", 100}});
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != added[i]) {
      EXPECT_EQ(added[i], "d");
    }
  }
  EXPECT_NEAR(share(added, "d"), 0.5, 0.01);
}

TEST(WeightedSplit, WhatIsWrongIsASentence) {
  const auto error = [](const Weights& weights) { return find_error(weights).value_or("ok"); };
  EXPECT_EQ(error({{"a", 1}}), "ok");
  EXPECT_EQ(error({{"a", 0}, {"b", 1}}), "ok");
  EXPECT_EQ(error({{"a", 0}, {"b", 0}}), "weighted_clusters has no weight over 0");
  EXPECT_EQ(error({{"a", 1}, {"b", 1}, {"a", 2}}), "weighted_clusters has the cluster \"a\" twice");
  EXPECT_EQ(split_name("shop", "canary"), "shop@canary");
}

}  // namespace
}  // namespace damper::proxy
