#include "damper/queue/work_queue/node_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::queue {
namespace {

using Indices = std::vector<std::uint32_t>;

// What a KeyTable is to a list: values with links.
struct Row {
  struct Value {
    Links links{77, 88};  // Stale, as those of an entry that was in another list.
  };
  std::array<Value, 20> values{};
  Value& value(std::uint32_t index) { return values[index]; }
};

Indices all(Row& row, const NodeList& list) {
  Indices found;
  list.for_each(row, [&](std::uint32_t index) { found.push_back(index); });
  return found;
}

TEST(NodeList, StartsEmpty) {
  Row row;
  NodeList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(all(row, list), Indices{});
}

TEST(NodeList, KeepsTheOrderAndLetsAnyoneLeave) {
  Row row;
  NodeList list;
  for (const std::uint32_t i : {5u, 0u, 3u, 19u}) list.push_back(row, i);
  EXPECT_EQ(all(row, list), (Indices{5, 0, 3, 19}));
  list.remove(row, 0);  // From the middle,
  EXPECT_EQ(all(row, list), (Indices{5, 3, 19}));
  list.remove(row, 5);  // the front,
  EXPECT_EQ(list.front(), 3u);
  list.remove(row, 19);  // the back,
  EXPECT_EQ(list.back(), 3u);
  list.remove(row, 3);  // and the last one.
  EXPECT_TRUE(list.empty());
  list.push_back(row, 0);
  EXPECT_EQ(list.front(), 0u);
  EXPECT_EQ(list.back(), 0u);
}

TEST(NodeList, LetsTheOneLeaveThatItNames) {
  Row row;
  NodeList list;
  for (std::uint32_t i = 0; i < 10; ++i) list.push_back(row, i);
  list.for_each(row, [&](std::uint32_t index) {
    if (index % 3 != 1) list.remove(row, index);
  });
  EXPECT_EQ(all(row, list), (Indices{1, 4, 7}));
  NodeList other;  // To go on to another list is to leave.
  list.for_each(row, [&](std::uint32_t index) {
    list.remove(row, index);
    other.push_back(row, index);
  });
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(all(row, other), (Indices{1, 4, 7}));
}

TEST(NodeList, AgreesWithVectors) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Row row;
    std::array<NodeList, 2> lists;
    std::array<Indices, 2> expected;
    for (int step = 0; step < 300; ++step) {
      const auto index = static_cast<std::uint32_t>(random.bits() % 20);
      const std::size_t to = random.bits() % 3;  // Either list, or none.
      for (std::size_t i = 0; i < 2; ++i) {
        const auto found = std::find(expected[i].begin(), expected[i].end(), index);
        if (found == expected[i].end()) continue;
        expected[i].erase(found);
        lists[i].remove(row, index);
      }
      if (to < 2) {
        lists[to].push_back(row, index);
        expected[to].push_back(index);
      }
      for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(all(row, lists[i]), expected[i]) << step;
        ASSERT_EQ(lists[i].size(), expected[i].size());
        if (expected[i].empty()) continue;
        ASSERT_EQ(lists[i].front(), expected[i].front());
        ASSERT_EQ(lists[i].back(), expected[i].back());
      }
    }
  }
}

}  // namespace
}  // namespace damper::queue
