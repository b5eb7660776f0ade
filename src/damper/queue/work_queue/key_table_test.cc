#include "damper/queue/work_queue/key_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "damper/base/random.h"

namespace damper::queue {
namespace {

// A key with a hash of the test's choice.
struct Clashing {
  std::uint64_t number = 0;
  std::uint64_t hash = 0;
  bool operator==(const Clashing& other) const { return number == other.number; }
};
// A user's key: two parts.
struct Path {
  std::string folder;
  std::string file;
  bool operator==(const Path&) const = default;
};
// A key that refuses to be copied when it is told so.
struct Fragile {
  int number = 0;
  inline static bool breaks = false;

  Fragile() = default;
  explicit Fragile(int n) : number(n) {}
  Fragile(const Fragile&) = default;
  Fragile& operator=(const Fragile& other) {
    if (breaks) throw std::runtime_error("no copy");
    number = other.number;
    return *this;
  }
  ~Fragile() = default;
  bool operator==(const Fragile&) const = default;
};

}  // namespace
}  // namespace damper::queue

template <>
struct std::hash<damper::queue::Clashing> {
  std::size_t operator()(const damper::queue::Clashing& key) const noexcept { return key.hash; }
};
template <>
struct std::hash<damper::queue::Path> {
  std::size_t operator()(const damper::queue::Path& key) const noexcept {
    return std::hash<std::string>{}(key.folder) * 31 + std::hash<std::string>{}(key.file);
  }
};
template <>
struct std::hash<damper::queue::Fragile> {
  std::size_t operator()(const damper::queue::Fragile& key) const noexcept {
    return static_cast<std::size_t>(key.number);
  }
};

namespace damper::queue {
namespace {

template <class Key>
std::uint32_t insert(KeyTable<Key, int>& table, KeyView<Key> key, int value = 0) {
  const std::uint32_t index = table.insert(key, table.hash(key));
  table.value(index) = value;
  return index;
}

TEST(KeyTable, EqualHashesUseEveryCell) {
  KeyTable<int, int> table;
  for (int key = 0; key < 32; ++key) (void)table.insert(key, 0);  // Half of the cells.
  EXPECT_EQ(table.find(32, 0), (KeyTable<int, int>::kNone));
  EXPECT_EQ(table.key(table.find(31, 0)), 31);
}

TEST(KeyTable, HoldsAValueForEachKey) {
  KeyTable<std::string, int> table;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.entries(), 0u);
  EXPECT_EQ(table.find("a"), table.kNone);
  const auto a = insert(table, "a", 1);
  const auto empty = insert(table, "", 2);
  EXPECT_NE(a, empty);
  EXPECT_EQ(table.find("a"), a);
  EXPECT_EQ(table.find(""), empty);
  EXPECT_EQ(table.find("b"), table.kNone);
  EXPECT_EQ(table.key(a), "a");
  EXPECT_EQ(table.value(a), 1);
  EXPECT_EQ(table.value(empty), 2);
  EXPECT_EQ(table.size(), 2u);
  table.erase(a);
  EXPECT_EQ(table.find("a"), table.kNone);
  EXPECT_EQ(table.find(""), empty);
  EXPECT_EQ(table.size(), 1u);
}

TEST(KeyTable, TakesNumbersAndStructsOfTheUserToo) {
  KeyTable<int, int> numbers;
  for (int i = -500; i < 500; ++i) insert(numbers, i, i * 2);
  for (int i = -500; i < 500; ++i) ASSERT_EQ(numbers.value(numbers.find(i)), i * 2);
  KeyTable<Path, int> paths;
  const auto first = insert(paths, {"etc", "hosts"}, 1);
  const auto second = insert(paths, {"etcho", "sts"}, 2);
  EXPECT_EQ(paths.find({"etc", "hosts"}), first);
  EXPECT_EQ(paths.find({"etcho", "sts"}), second);
  EXPECT_EQ(paths.find({"etc", "host"}), paths.kNone);
}

TEST(KeyTable, ReferencesStayGoodWhileItGrowsAndOthersLeave) {  // Invariant (1).
  KeyTable<std::string, int> table;
  const auto index = insert(table, "the one that a worker reads", 7);
  const std::string& key = table.key(index);
  const int& value = table.value(index);
  for (int i = 0; i < 10'000; ++i) insert(table, std::to_string(i), i);
  for (int i = 0; i < 10'000; i += 2) table.erase(table.find(std::to_string(i)));
  EXPECT_EQ(&table.key(index), &key);
  EXPECT_EQ(&table.value(index), &value);
  EXPECT_EQ(key, "the one that a worker reads");
  EXPECT_EQ(value, 7);
  EXPECT_EQ(table.find("the one that a worker reads"), index);
}

TEST(KeyTable, WhatWasFreedLastIsUsedFirstWithItsMemoryAndItsValue) {  // Invariant (2).
  KeyTable<std::string, int> table;
  const std::string longer(100, 'x');
  const auto a = insert(table, longer, 1);
  const auto b = insert(table, "b", 2);
  const char* memory = table.key(a).data();
  table.erase(b);
  table.erase(a);
  const auto again = table.insert(std::string(100, 'y'), table.hash(std::string(100, 'y')));
  EXPECT_EQ(again, a);
  EXPECT_EQ(table.value(again), 1);
  EXPECT_EQ(table.key(again).data(), memory);
  EXPECT_EQ(insert(table, "c"), b);
  EXPECT_EQ(table.entries(), 256u);
}

TEST(KeyTable, GrowsByChunksAndKeepsThem) {
  KeyTable<int, int> table;
  for (int i = 0; i < 257; ++i) insert(table, i);
  EXPECT_EQ(table.entries(), 512u);
  for (int i = 0; i < 257; ++i) table.erase(table.find(i));
  EXPECT_EQ(table.entries(), 512u);
  EXPECT_EQ(table.size(), 0u);
}

// Keys of one hash are one run of cells. Its home is the last cell, so that it goes on at the
// first: a removal must move back across the end too.
TEST(KeyTable, ErasesInTheMiddleOfARunThatWrapsAround) {
  std::uint64_t last = 0;
  while (KeyTable<Clashing, int>::hash({0, last}) % 64 != 63) ++last;
  std::uint64_t first = 0;
  while (KeyTable<Clashing, int>::hash({0, first}) % 64 != 0) ++first;
  for (std::uint64_t erased = 0; erased < 8; ++erased) {
    KeyTable<Clashing, int> table;  // 64 cells.
    std::vector<std::uint32_t> indices;
    for (std::uint64_t i = 0; i < 8; ++i) {  // 63, 0, 1, ...: homes alternate, none stands at home.
      indices.push_back(insert(table, {i, i % 2 == 0 ? last : first}, static_cast<int>(i)));
    }
    table.erase(indices[erased]);
    for (std::uint64_t i = 0; i < 8; ++i) {
      ASSERT_EQ(table.find({i, i % 2 == 0 ? last : first}), i == erased ? table.kNone : indices[i])
          << i << " after " << erased;
    }
  }
}

TEST(KeyTable, AKeyThatCannotBeCopiedChangesNothing) {
  KeyTable<Fragile, int> table;
  for (int i = 0; i < 256; ++i) insert(table, Fragile(i), i);  // The next one needs room.
  Fragile::breaks = true;
  EXPECT_THROW(insert(table, Fragile(1000)), std::runtime_error);
  EXPECT_THROW(insert(table, Fragile(1000)), std::runtime_error);
  Fragile::breaks = false;
  EXPECT_EQ(table.size(), 256u);
  EXPECT_EQ(table.find(Fragile(1000)), table.kNone);
  EXPECT_EQ(insert(table, Fragile(1000)), 256u);
  for (int i = 0; i < 256; ++i) ASSERT_EQ(table.value(table.find(Fragile(i))), i);
}

// ---- Against std::unordered_map, over many seeds -----------------------------------------------

// How a key's number becomes its hash: the bad ones.
enum class Hashing { identity, high_bits, same_halves, all_one, few, mixed };
constexpr Hashing kHashings[] = {Hashing::identity, Hashing::high_bits, Hashing::same_halves,
                                 Hashing::all_one,  Hashing::few,       Hashing::mixed};

Clashing make(Hashing hashing, std::uint64_t number) {
  switch (hashing) {
    case Hashing::identity: return {number, number};
    case Hashing::high_bits: return {number, number << 48};
    case Hashing::same_halves:  // Folded, nothing is left of the low half.
      return {number, number << 32 | number};
    case Hashing::all_one: return {number, 42};
    case Hashing::few: return {number, number % 5};
    case Hashing::mixed: return {number, Random(number).bits()};
  }
  return {};
}

void compare(Hashing hashing, std::uint64_t seed) {
  Random random(seed);
  const std::uint64_t keys = 1 + random.bits() % 400;  // Over and under 256, the first chunk.
  const std::uint64_t bias = 1 + random.bits() % 5;
  KeyTable<Clashing, std::uint64_t> table;
  std::unordered_map<std::uint64_t, std::uint64_t> values;
  std::unordered_map<std::uint64_t, std::uint32_t> indices;
  for (std::uint64_t step = 0; step < 1500; ++step) {
    const std::uint64_t number = random.bits() % keys;
    const Clashing key = make(hashing, number);
    const std::uint32_t found = table.find(key);
    ASSERT_EQ(found != table.kNone, values.contains(number)) << step;
    if (found == table.kNone) {
      if (random.bits() % 6 < bias) continue;
      const std::uint32_t index = table.insert(key, table.hash(key));
      ASSERT_LT(index, table.entries());
      table.value(index) = values[number] = step;
      indices[number] = index;
    } else {
      ASSERT_EQ(found, indices[number]);
      ASSERT_EQ(table.key(found).number, number);
      ASSERT_EQ(table.value(found), values[number]);
      if (random.bits() % 6 < bias) {
        table.erase(found);
        values.erase(number);
        indices.erase(number);
      }
    }
    ASSERT_EQ(table.size(), values.size());
  }
  for (std::uint64_t number = 0; number < keys; ++number) {
    const auto found = indices.find(number);
    ASSERT_EQ(table.find(make(hashing, number)),
              found == indices.end() ? table.kNone : found->second);
  }
}

class KeyTableProperty : public testing::TestWithParam<Hashing> {};

TEST_P(KeyTableProperty, AgreesWithTheStandardMap) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare(GetParam(), seed);
    if (HasFatalFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Hashings, KeyTableProperty, testing::ValuesIn(kHashings));

// Numbers in a row, numbers far apart and pointers are what people have; std::hash leaves them as
// they are. A run of cells must stay short for them too.
TEST(KeyTable, SpreadsHashesThatAreNumbersInARow) {
  for (const unsigned shift : {0U, 4U, 12U, 20U, 32U, 44U}) {
    std::vector<int> cells(2048);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      ++cells[KeyTable<Clashing, int>::hash({i, i << shift}) % cells.size()];
    }
    for (const int cell : cells) ASSERT_LE(cell, 8) << shift;
  }
}

}  // namespace
}  // namespace damper::queue
