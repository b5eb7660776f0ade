#include "damper/balance/key_order.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "damper/balance/replica_set.h"

namespace damper::balance {
namespace {

std::vector<std::uint64_t> names(std::size_t count) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(name_number("http://10.0.0." + std::to_string(i) + ":9000"));
  }
  return all;
}

std::size_t first_of(std::uint64_t key, const std::vector<std::uint64_t>& all) {
  std::size_t first = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (key_score(key, all[i]) > key_score(key, all[first])) first = i;
  }
  return first;
}

TEST(KeyOrder, EveryReplicaIsTheFirstOfItsPartOfTheKeys) {
  const auto all = names(8);
  std::array<int, 8> keys{};
  for (std::uint64_t key = 0; key < 80'000; ++key) ++keys[first_of(key, all)];
  for (const int count : keys) {
    EXPECT_GT(count, 9500);
    EXPECT_LT(count, 10'500);
  }
}

// (2)
TEST(KeyOrder, AReplicaThatLeavesMovesItsOwnKeysAlone) {
  const auto all = names(8);
  for (std::size_t gone = 0; gone < all.size(); ++gone) {
    auto rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
    std::array<int, 7> moved{};
    for (std::uint64_t key = 0; key < 8000; ++key) {
      const std::size_t before = first_of(key, all);
      const std::size_t after = first_of(key, rest);
      if (before == gone) {
        ++moved[after];
      } else {
        ASSERT_EQ(rest[after], all[before]) << key;
      }
    }
    for (const int count : moved) EXPECT_GT(count, 60);  // They spread: 143 each.
  }
}

// (1)
TEST(KeyOrder, TheOrderIsTheSameOnEveryMachine) {
  EXPECT_EQ(name_number("http://10.0.0.1:9000"), 16626260514755779480U);
  EXPECT_EQ(key_score(7, name_number("http://10.0.0.1:9000")), 18303387059037262124U);
}

TEST(KeyOrder, AReplicaMayHaveItsShareTimesTheFactor) {
  EXPECT_EQ(load_bound(0, 4, Percent(150)), 1);
  EXPECT_EQ(load_bound(1, 4, Percent(150)), 1);
  EXPECT_EQ(load_bound(7, 4, Percent(150)), 3);    // 8 / 4 * 1.5
  EXPECT_EQ(load_bound(39, 4, Percent(125)), 13);  // 12.5
  EXPECT_EQ(load_bound(39, 1, Percent(100)), 40);
  EXPECT_EQ(load_bound(100'000'000, kMostReplicas, Percent(1000)), 3'906'251);
}

TEST(KeyOrder, OneReplicaIsAlwaysUnderTheBound) {
  for (std::int64_t replicas = 1; replicas < 40; ++replicas) {
    for (std::int64_t in_flight = 0; in_flight < 200; ++in_flight) {
      const auto bound = load_bound(in_flight, static_cast<std::size_t>(replicas), Percent(100));
      ASSERT_GT(bound * replicas, in_flight);
    }
  }
}

}  // namespace
}  // namespace damper::balance
