#include "damper/queue/limiters/failure_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <list>
#include <string>

#include "damper/base/random.h"
#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

TEST(FailureTable, CountsFailuresInARowByKey) {
  FailureTable<std::string> table;
  EXPECT_EQ(table.failures("a"), 0u);
  EXPECT_EQ(table.on_failure("a", kFailed, kStart).failures, 1u);
  EXPECT_EQ(table.on_failure("a", kFailed, kStart).failures, 2u);
  EXPECT_EQ(table.on_failure("b", kFailed, kStart).failures, 1u);
  EXPECT_EQ(table.failures("a"), 2u);
  EXPECT_EQ(table.size(), 2u);
  table.forget("a");
  EXPECT_EQ(table.failures("a"), 0u);
  EXPECT_EQ(table.size(), 1u);
  table.forget("a");  // Again, and one that was never there.
  table.forget("c");
  EXPECT_EQ(table.stats(), (LimiterStats{.keys = 1, .capacity = 100'000}));
}

TEST(FailureTable, TrapQ6_TheMemoryOfAMillionDeletedKeysIsBounded) {  // Invariant (1)
  FailureTable<int> table({.capacity = 1000});
  for (int key = 0; key < 1'000'000; ++key) {  // forget() is not called.
    (void)table.on_failure(key, kFailed, kStart);
    ASSERT_LE(table.size(), 1000u);
  }
  EXPECT_EQ(table.stats(), (LimiterStats{.keys = 1000, .capacity = 1000, .evicted = 999'000}));
  EXPECT_EQ(table.failures(999'999), 1u);
  EXPECT_EQ(table.failures(999'000), 1u);
  EXPECT_EQ(table.failures(998'999), 0u);
}

TEST(FailureTable, TheKeyThatIsQuietForLongestMakesRoom) {  // Invariant (2)
  FailureTable<std::string> table({.capacity = 3});
  for (const char* key : {"a", "b", "c"}) (void)table.on_failure(key, kFailed, kStart);
  (void)table.on_failure("a", kFailed, kStart);  // b is quiet for longest now.
  EXPECT_EQ(table.stats().evicted, 0u);
  (void)table.on_failure("d", kFailed, kStart);
  EXPECT_EQ(table.failures("b"), 0u);
  EXPECT_EQ(table.failures("a"), 2u);
  table.forget("c");
  (void)table.on_failure("e", kFailed, kStart);  // There is room.
  EXPECT_EQ(table.stats(), (LimiterStats{.keys = 3, .capacity = 3, .evicted = 1}));
}

TEST(FailureTable, AnEntryThatIsUsedAgainRemembersNothing) {  // Invariant (3)
  FailureTable<std::string> table({.capacity = 1});
  (void)table.on_failure("a", told(hours(5)), kStart);
  (void)table.on_failure("a", kFailed, kStart);
  const FailingKey& failing = table.on_failure("b", kFailed, kStart);
  EXPECT_EQ(failing.failures, 1u);
  EXPECT_EQ(failing.wait(kFailed, kStart, seconds(1)), seconds(1));
  table.forget("b");
  EXPECT_EQ(table.on_failure("b", kFailed, kStart).failures, 1u);
}

TEST(FailureTable, AKeyThatIsQuietForTooLongIsForgotten) {  // Invariant (3)
  FailureTable<std::string> table({.capacity = 10, .forget_after = minutes(10)});
  (void)table.on_failure("a", kFailed, kStart);
  EXPECT_EQ(table.on_failure("a", kFailed, kStart + minutes(10)).failures, 2u);  // Just not yet.
  const Instant later = kStart + minutes(20) + Duration(1);
  EXPECT_EQ(table.failures("a"), 2u);  // The table has no later time.
  (void)table.on_failure("b", kFailed, later);
  EXPECT_EQ(table.failures("a"), 0u);
  EXPECT_EQ(table.on_failure("a", kFailed, later).failures, 1u);
}

TEST(FailureTable, WhatIsForgottenMakesRoomUncounted) {
  FailureTable<int> table({.capacity = 1, .forget_after = minutes(10)});
  (void)table.on_failure(1, kFailed, kStart);
  (void)table.on_failure(2, kFailed, kStart + minutes(10) + Duration(1));
  EXPECT_EQ(table.stats().evicted, 0u);
  (void)table.on_failure(3, kFailed, kStart + minutes(20) + Duration(1));
  EXPECT_EQ(table.stats().evicted, 1u);
}

TEST(FailureTable, ADelayCountsFromTheLatestTimeThatTheServerNamed) {
  FailureTable<int> table;
  const auto wait = [&](const decide::Report& why, Instant now) {
    return table.on_failure(1, why, now).wait(why, now, seconds(1));
  };
  EXPECT_EQ(wait(kFailed, kStart), seconds(1));
  EXPECT_EQ(wait(told(seconds(60)), kStart), seconds(61));
  EXPECT_EQ(wait(kFailed, kStart + seconds(20)), seconds(41));  // It ran early, by an add.
  EXPECT_EQ(wait(told(seconds(5)), kStart + seconds(20)), seconds(41));
  EXPECT_EQ(wait(told(seconds(50)), kStart + seconds(20)), seconds(51));
  EXPECT_EQ(wait(kFailed, kStart + seconds(100)), seconds(1));
  EXPECT_EQ(wait(told(Duration(0)), kStart + seconds(100)), seconds(1));
  table.forget(1);
  EXPECT_EQ(wait(kFailed, kStart), seconds(1));
}

TEST(FailureTable, AKeyThatTheServerWantsLaterIsNotForgottenBefore) {
  FailureTable<int> table({.capacity = 10, .forget_after = minutes(10)});
  (void)table.on_failure(1, told(hours(24 * 30)), kStart);
  EXPECT_EQ(table.on_failure(1, kFailed, kStart + hours(1)).failures, 2u);
  EXPECT_EQ(table.on_failure(1, kFailed, kStart + hours(24 * 30) + minutes(10)).failures, 3u);
}

TEST(FailureTable, CountsSaturate) {
  FailureTable<int> table;
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  table.on_failure(1, kFailed, kStart).failures = kMost - 1;
  EXPECT_EQ(table.on_failure(1, kFailed, kStart).failures, kMost);
  EXPECT_EQ(table.on_failure(1, kFailed, kStart).failures, kMost);
  EXPECT_EQ(table.failures(1), kMost);
}

TEST(FailureTable, TimeGoingBackwardsForgetsNothing) {
  FailureTable<int> table({.capacity = 10, .forget_after = minutes(10)});
  (void)table.on_failure(1, kFailed, kStart);
  EXPECT_EQ(table.on_failure(1, kFailed, kStart - hours(1)).failures, 2u);
  EXPECT_EQ(table.on_failure(2, told(kForever), Instant::min()).failures, 1u);
  EXPECT_EQ(table.on_failure(2, kFailed, kNever).failures, 1u);  // Ages later.
}

// The model is a list, the newest at its back, looked through from end to end.
TEST(FailureTable, IsAListByLastFailureOverManySeeds) {  // Invariants (1), (2), (3)
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const std::size_t capacity = 1 + random.bits() % 20;
    FailureTable<int> table({.capacity = capacity, .forget_after = seconds(100)});
    struct Known {
      int key;
      std::uint32_t failures;
      Instant last;
    };
    std::list<Known> known;
    std::uint64_t evicted = 0;
    Instant now = kStart;
    for (int step = 0; step < 2000; ++step) {
      const int key = static_cast<int>(random.bits() % 30);
      const auto at = std::ranges::find(known, key, &Known::key);
      if (random.draw() < 0.2) {
        table.forget(key);
        if (at != known.end()) known.erase(at);
        ASSERT_EQ(table.failures(key), 0u) << "seed " << seed;
        continue;
      }
      now += Duration(random.bits() % 10'000'000'000);
      const auto is_old = [&](const Known& one) { return now - one.last > seconds(100); };
      std::uint32_t failures = 1;
      if (at != known.end()) {
        if (!is_old(*at)) failures = at->failures + 1;
        known.erase(at);
      } else if (known.size() == capacity) {
        evicted += is_old(known.front()) ? 0u : 1u;
        known.pop_front();
      }
      known.push_back({key, failures, now});
      ASSERT_EQ(table.on_failure(key, kFailed, now).failures, failures) << "seed " << seed;
      ASSERT_EQ(table.size(), known.size()) << "seed " << seed;
      ASSERT_EQ(table.stats().evicted, evicted) << "seed " << seed;
      for (const Known& one : known) {
        ASSERT_EQ(table.failures(one.key), is_old(one) ? 0 : one.failures) << "seed " << seed;
      }
    }
  }
}

TEST(FailureTable, BadOptionsAreNamedWithTheirBound) {
  EXPECT_EQ(find_error(FailureTableOptions{}), std::nullopt);
  EXPECT_EQ(find_error(FailureTableOptions{.capacity = 0}),
            "capacity is 0; it must be from 1 to 10000000");
  EXPECT_EQ(find_error(FailureTableOptions{.capacity = 10'000'000}), std::nullopt);
  EXPECT_EQ(find_error(FailureTableOptions{.capacity = 10'000'001}),
            "capacity is 10000001; it must be from 1 to 10000000");
  EXPECT_EQ(find_error(FailureTableOptions{.forget_after = Duration(0)}),
            "forget_after is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(find_error(FailureTableOptions{.forget_after = Duration(1)}), std::nullopt);
  EXPECT_EQ(find_error(FailureTableOptions{.forget_after = kLongest}), std::nullopt);
  EXPECT_EQ(find_error(FailureTableOptions{.forget_after = hours(721)}),
            "forget_after is 721h; it must be from 1ns to 720h");
  EXPECT_DEATH({ FailureTable<int> table({.capacity = 0}); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
