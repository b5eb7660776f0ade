#include "damper/base/slot_ring.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant at(Duration since_epoch) { return Instant{since_epoch}; }

TEST(SlotClock, CountsWholeWidthsFromTheEpoch) {
  const SlotClock clock{seconds(1), 5};
  EXPECT_EQ(clock.slot(at(seconds(0))), 5u);
  EXPECT_EQ(clock.slot(at(seconds(1) - Duration(1))), 5u);
  EXPECT_EQ(clock.slot(at(seconds(1))), 6u);
  EXPECT_EQ(clock.slot(at(seconds(-7))), 5u);
  EXPECT_EQ(clock.slot(Instant::min()), 5u);
  EXPECT_EQ(clock.slot(kNever), 5u + static_cast<std::uint32_t>(9'223'372'036));
}

TEST(SlotClock, TheClockThatFollowsGoesOnSixtyFourSlotsLater) {
  const SlotClock clock{seconds(1), 0};
  const Instant now = at(seconds(100));
  for (const Duration width : {Duration(milliseconds(100)), Duration(seconds(360))}) {
    EXPECT_EQ(clock.followed_by(width, now).slot(now), 164u);
    EXPECT_EQ(clock.followed_by(width, now).slot(now + width), 165u);
  }
}

TEST(SlotClock, ASlotIsAheadByAtMostWhatThreadsAreApart) {
  constexpr std::uint32_t kMost = 1u << 16;
  for (const std::uint32_t slot : {0u, 7u, 0xffff'fff0u}) {
    EXPECT_FALSE(SlotClock::is_ahead(slot, slot));
    EXPECT_TRUE(SlotClock::is_ahead(slot + 1, slot));
    EXPECT_FALSE(SlotClock::is_ahead(slot, slot + 1));
    EXPECT_TRUE(SlotClock::is_ahead(slot + kMost, slot));
    EXPECT_FALSE(SlotClock::is_ahead(slot + kMost + 1, slot));
  }
}

TEST(TaggedCount, ANewerTagStartsAgainAndAnOlderOneIsDropped) {
  TaggedCount count;
  EXPECT_EQ(count.add(7), 1u);
  EXPECT_EQ(count.add(7, 4), 5u);
  EXPECT_EQ(count.add(8), 1u);
  EXPECT_EQ(count.add(7), 0u);
  EXPECT_EQ(count.load().tag, 8u);
  EXPECT_EQ(count.load().count, 1u);
  count.clear(7);  // Not the tag's any more.
  EXPECT_EQ(count.load().count, 1u);
  count.clear(8);
  EXPECT_EQ(count.load().count, 0u);
}

TEST(TaggedCount, TagsWrapAroundAndAFreshOneTakesAnyTag) {
  TaggedCount count;
  EXPECT_EQ(count.add(0xffff'fff0U), 1u);  // Behind the initial tag 0, which has counted nothing.
  EXPECT_EQ(count.add(3), 1u);             // 19 ahead, over the end.
  EXPECT_EQ(count.add(0xffff'fff0U), 0u);
}

TEST(TaggedCount, AnAddAloneFollowsTheSameRules) {
  TaggedCount count;
  const auto value = [&] { return std::pair(count.load().tag, count.load().count); };
  count.add_alone(0xffff'fff0U);
  EXPECT_EQ(value(), std::pair(0xffff'fff0U, 1U));
  count.add_alone(3);
  count.add_alone(0xffff'fff0U);  // Older: dropped.
  EXPECT_EQ(value(), std::pair(3U, 1U));
  count.add_alone(3);
  EXPECT_EQ(value(), std::pair(3U, 2U));
}

TEST(TaggedCount, ARaiseFollowsTheSameRules) {
  TaggedCount count;
  const auto value = [&] { return std::pair(count.load().tag, count.load().count); };
  count.raise(0xffff'fff0U, 1);
  count.raise(0xffff'ffefU, 9);  // Older: dropped.
  EXPECT_EQ(value(), std::pair(0xffff'fff0U, 1U));
  count.raise(0xffff'fff0U, 3);
  EXPECT_EQ(value(), std::pair(0xffff'fff0U, 3U));
  count.raise(0xffff'fff1U, 2);
  EXPECT_EQ(value(), std::pair(0xffff'fff1U, 2U));
}

TEST(TaggedCount, TheCountIsHeldAtItsEnd) {
  TaggedCount count;
  EXPECT_EQ(count.add(1, 0xffff'fffeU), 0xffff'fffeU);
  EXPECT_EQ(count.add(1), 0xffff'ffffU);
  EXPECT_EQ(count.add(1), 0xffff'ffffU);
  EXPECT_EQ(count.load().tag, 1u);
}

TEST(SlotRing, AnAddIsInTheSumOfItsSlotAndTheNineAfterIt) {    // Invariant (1)
  for (const std::uint32_t first : {0U, 20U, 0xffff'fffcU}) {  // The last one wraps around.
    SlotRing<10> ring;
    ring.add(first, 3);
    for (std::uint32_t age = 0; age < 10; ++age) EXPECT_EQ(ring.sum(first + age), 3u) << age;
    for (std::uint32_t age = 10; age < 40; ++age) EXPECT_EQ(ring.sum(first + age), 0u) << age;
  }
}

TEST(SlotRing, TrapB3_PollingJustUnderASlotDoesNotKeepACountAlive) {
  const SlotClock clock{seconds(1), 0};
  SlotRing<10> ring;
  ring.add(clock.slot(at(Duration(0))));
  Instant now = at(Duration(0));
  while (now < at(seconds(10))) {
    EXPECT_EQ(ring.sum(clock.slot(now)), 1u);
    now += milliseconds(999);
  }
  EXPECT_EQ(ring.sum(clock.slot(now)), 0u);  // 10.989 s
}

TEST(SlotRing, TheSumWithoutASlotIsThatOfTheOthersInTheWindow) {
  SlotRing<> ring;
  EXPECT_EQ(ring.sum_without(100), 0u);
  ring.add(100, 3);
  ring.add(101, 5);
  ring.add(102, 7);
  EXPECT_EQ(ring.sum_without(102), 8u);
  EXPECT_EQ(ring.sum_without(103), 15u);
  EXPECT_EQ(ring.sum_without(109), 15u);
  EXPECT_EQ(ring.sum_without(110), 12u);
  EXPECT_EQ(ring.sum_without(111), 7u);
  EXPECT_EQ(ring.sum_without(112), 0u);
}

TEST(SlotRing, AnAddThatIsTooLateIsDropped) {  // Invariant (2)
  SlotRing<10> ring;
  EXPECT_TRUE(ring.add(36));
  EXPECT_TRUE(ring.add(36, 4));
  EXPECT_FALSE(ring.add(20, 7));  // The same word, 16 slots ago.
  EXPECT_EQ(ring.sum(36), 5u);
  EXPECT_EQ(ring.sum(20), 0u);
  ring.add(35, 2);  // One slot late: its own word.
  EXPECT_EQ(ring.sum(36), 7u);
  EXPECT_EQ(ring.sum(45), 5u);
}

TEST(SlotRing, ASumHasTheSlotsThatAnotherThreadIsAheadBy) {  // Invariant (3)
  SlotRing<10> ring;
  ring.add(106);
  EXPECT_EQ(ring.sum(100), 1u);
  EXPECT_EQ(ring.sum(99), 0u);
}

TEST(SlotRing, EqualsAListOfWhatHappenedOverManySeeds) {  // Invariants (1) to (3)
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    SlotRing<10> ring;
    std::vector<std::uint32_t> adds;
    std::uint32_t slot = static_cast<std::uint32_t>(random.bits());
    for (int step = 0; step < 200; ++step) {
      slot += static_cast<std::uint32_t>(random.bits() % 4);
      const std::uint32_t late = slot - static_cast<std::uint32_t>(random.bits() % 3);
      ring.add(late);
      adds.push_back(late);
      std::uint64_t expected = 0;
      for (const std::uint32_t add : adds) expected += slot - add < 10 ? 1 : 0;
      ASSERT_EQ(ring.sum(slot), expected) << "seed " << seed << " step " << step;
    }
  }
}

TEST(SlotRing, ALongerWindowKeepsEveryCountForTheRestOfItsLife) {
  const SlotClock from{seconds(1), 0};
  const Instant now = at(seconds(1000));
  SlotRing<10> ring;
  for (std::uint32_t age = 0; age < 10; ++age) ring.add(from.slot(now) - age, 1U << age);
  const SlotClock to = from.followed_by(seconds(2), now);
  ring.carry(from, to, now);
  EXPECT_EQ(ring.sum(to.slot(now)), 1023u);
  EXPECT_EQ(ring.sum(to.slot(now) + 5), 1023u);
  EXPECT_EQ(ring.sum(to.slot(now) + 6), 255u);  // What was 8 and 9 s old is 20 s old.
  EXPECT_EQ(ring.sum(to.slot(now) + 10), 0u);
}

TEST(SlotRing, AShorterWindowForgetsWhatIsOlderThanItself) {
  const SlotClock from{seconds(1), 0};
  const Instant now = at(seconds(1000));
  SlotRing<10> ring;
  for (std::uint32_t age = 0; age < 10; ++age) ring.add(from.slot(now) - age, 1U << age);
  ring.add(from.slot(now) - 10, 5000);  // Expired, but still in its word.
  const SlotClock to = from.followed_by(milliseconds(300), now);
  ring.carry(from, to, now);
  EXPECT_EQ(ring.sum(to.slot(now)), 7u);      // 0, 1 and 2 s old: ages 0, 3 and 6.
  EXPECT_EQ(ring.sum(to.slot(now) + 4), 3u);  // The one of 2 s is past 3 s.
  ring.add(from.slot(now), 9);                // A thread that still has the old clock.
  EXPECT_EQ(ring.sum(to.slot(now)), 7u);
}

TEST(SlotRing, WhatExpiredLongAgoIsNotCarried) {
  const SlotClock from{seconds(1), 0};
  const Instant now = at(seconds(1000));
  SlotRing<10> ring;
  for (std::uint32_t age = 16; age < 26; ++age) ring.add(from.slot(now) - age);
  const SlotClock to = from.followed_by(seconds(2), now);
  ring.carry(from, to, now);
  EXPECT_EQ(ring.sum(to.slot(now)), 0u);
}

TEST(SlotRing, NoAddIsLostOrMisplacedUnderContention) {  // Invariant (2)
  SlotRing<10> ring;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&ring] {
      for (std::uint32_t i = 0; i < 20'000; ++i) ring.add(1000 + i / 2000);
    });
  }
  threads.clear();
  EXPECT_EQ(ring.sum(1009), 80'000u);
  EXPECT_EQ(ring.sum(1014), 40'000u);
}

TEST(SlotRing, TakesBackWhatWasCountedAndNoMore) {
  SlotRing<> ring;
  EXPECT_TRUE(ring.add(100, 2));
  ring.take(100);
  EXPECT_EQ(ring.count(100), 1u);
  ring.take(101);  // Nothing was counted there.
  ring.take(116);  // Nor there, at the same place.
  EXPECT_EQ(ring.count(100), 1u);
  ring.take(100);
  ring.take(100);
  EXPECT_EQ(ring.sum(100), 0u);
}

TEST(SlotRing, ARaiseNeverLowersAndNeverReachesANewerSlot) {
  SlotRing<> ring;
  ring.raise(100, 5);
  ring.raise(100, 3);
  EXPECT_EQ(ring.count(100), 5u);
  ring.raise(116, 2);  // The same place, later.
  EXPECT_EQ(ring.count(116), 2u);
  ring.raise(100, 9);
  EXPECT_EQ(ring.count(116), 2u);
  EXPECT_EQ(ring.count(100), 0u);
}

TEST(SlotRing, ScalesEveryCountRoundingUp) {
  SlotRing<> ring;
  ring.add(100, 10);
  ring.add(101, 3);
  ring.scale(1, 2);
  EXPECT_EQ(ring.count(100), 5u);
  EXPECT_EQ(ring.count(101), 2u);
  ring.scale(std::numeric_limits<std::int64_t>::max(), 1);  // Held at the most a count can be.
  EXPECT_EQ(ring.count(100), std::numeric_limits<std::uint32_t>::max());
  ring.scale(0, 7);
  EXPECT_EQ(ring.sum(101), 0u);
}

TEST(SlotRing, ClearForgetsOneSlot) {
  SlotRing<> ring;
  ring.add(100);
  ring.add(101);
  ring.clear(100);
  ring.clear(117);  // The place of 101, which is not its.
  EXPECT_EQ(ring.sum(101), 1u);
}

TEST(SlotClock, StartIsAnInstantOfThatSlot) {
  const SlotClock clock(seconds(1), 7);
  const Instant now{seconds(100) + milliseconds(400)};
  EXPECT_EQ(clock.start(clock.slot(now), now), now);
  EXPECT_EQ(clock.slot(clock.start(clock.slot(now) + 2, now)), clock.slot(now) + 2);
  EXPECT_EQ(clock.slot(clock.start(clock.slot(now) - 3, now)), clock.slot(now) - 3);
}

}  // namespace
}  // namespace damper
