#include "damper/admit/class_lists.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

constexpr Criticality kFirst = Criticality::critical_plus;
constexpr Criticality kLast = Criticality::sheddable;

TEST(ClassLists, EachClassIsTakenFromEitherEndInOrderOfArrival) {  // Invariant (2).
  ClassLists<int> lists(4);
  for (const int item : {1, 2, 3}) lists.push(kFirst, {item, Instant{}, kNever});
  lists.push(kLast, {9, Instant{Duration(5)}, Instant{Duration(7)}});
  EXPECT_TRUE(lists.full());
  EXPECT_EQ(lists.oldest(kFirst).item, 1);
  EXPECT_EQ(lists.take_newest(kFirst).item, 3);
  EXPECT_EQ(lists.take_oldest(kFirst).item, 1);
  EXPECT_EQ(lists.take_newest(kFirst).item, 2);  // The last one, from either end.
  EXPECT_EQ(lists.size(kFirst), 0U);
  EXPECT_EQ(lists.oldest(kLast).arrived, Instant{Duration(5)});
  EXPECT_EQ(lists.oldest(kLast).deadline, Instant{Duration(7)});
  EXPECT_EQ(lists.take_oldest(kLast).item, 9);
  EXPECT_EQ(lists.size(), 0U);
}

TEST(ClassLists, WhatIsTakenIsMovedOutAndItsPlaceKeepsNothing) {
  ClassLists<std::shared_ptr<int>> lists(1);
  const auto item = std::make_shared<int>(1);
  lists.push(kFirst, {item, Instant{}, kNever});
  EXPECT_EQ(item.use_count(), 2);
  EXPECT_EQ(lists.take_oldest(kFirst).item, item);
  EXPECT_EQ(item.use_count(), 1);
}

TEST(ClassLists, MisuseIsABug) {
  ClassLists<int> lists(1);
  EXPECT_DEATH((void)lists.oldest(kFirst), "check failed");
  EXPECT_DEATH((void)lists.take_oldest(kFirst), "check failed");
  EXPECT_DEATH((void)lists.take_newest(kFirst), "check failed");
  EXPECT_DEATH((void)lists.take_at(kFirst, 0), "check failed");
  lists.push(kFirst, {1, Instant{}, kNever});
  EXPECT_DEATH(lists.push(kLast, {2, Instant{}, kNever}), "check failed");
}

TEST(ClassLists, IsFourDequesThatShareACapacity) {  // Invariants (1) and (2).
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const std::size_t capacity = 1 + random.bits() % 8;
    ClassLists<int> lists(capacity);
    std::array<std::deque<int>, kCriticalities> expected;
    std::map<int, ClassLists<int>::Handle> handles;
    for (int step = 0; step < 500; ++step) {
      const std::size_t index = random.bits() % kCriticalities;
      const auto c = static_cast<Criticality>(index);
      std::deque<int>& items = expected[index];
      if (random.bits() % 2 == 0) {
        if (lists.full()) continue;
        handles[step] = lists.push(c, {step, Instant{}, kNever});
        items.push_back(step);
      } else if (!items.empty() && random.bits() % 3 == 0) {  // From anywhere.
        const auto at = static_cast<std::ptrdiff_t>(random.bits() % items.size());
        const int item = items[static_cast<std::size_t>(at)];
        ASSERT_EQ(lists.take_at(c, handles[item]).item, item) << "seed " << seed;
        items.erase(items.begin() + at);
      } else if (!items.empty()) {
        const bool newest = random.bits() % 2 == 0;
        const int item = newest ? items.back() : items.front();
        ASSERT_EQ(lists.oldest(c).item, items.front()) << "seed " << seed;
        ASSERT_EQ((newest ? lists.take_newest(c) : lists.take_oldest(c)).item, item)
            << "seed " << seed << " step " << step;
        newest ? items.pop_back() : items.pop_front();
      }
      std::size_t sum = 0;
      for (std::size_t i = 0; i < kCriticalities; ++i) {
        ASSERT_EQ(lists.size(static_cast<Criticality>(i)), expected[i].size()) << "seed " << seed;
        sum += expected[i].size();
      }
      ASSERT_EQ(lists.size(), sum) << "seed " << seed;
      ASSERT_EQ(lists.full(), sum == capacity) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace damper::admit
