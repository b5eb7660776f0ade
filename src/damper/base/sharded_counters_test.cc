#include "damper/base/sharded_counters.h"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace damper {
namespace {

TEST(ShardedCounters, StartsAtZeroAndAdds) {
  ShardedCounters<3> counters;
  EXPECT_EQ(counters.sum(0), 0u);
  counters.add(0);
  counters.add(2, 40);
  counters.add(2);
  EXPECT_EQ(counters.sum(0), 1u);
  EXPECT_EQ(counters.sum(1), 0u);
  EXPECT_EQ(counters.sum(2), 41u);
}

TEST(PlainCounters, StartAtZeroAndAdd) {
  PlainCounters<3> counters;
  counters.add(1);
  counters.add(1, 5);
  counters.add(2);
  EXPECT_EQ(counters.sum(0), 0u);
  EXPECT_EQ(counters.sum(1), 6u);
  EXPECT_EQ(counters.sum(2), 1u);
}

TEST(ShardedCounters, TwoThreadsNeverShareACacheLine) {
  static_assert(alignof(ShardedCounters<1>) == 64);
  static_assert(sizeof(ShardedCounters<1>) == 65 * 64);
  static_assert(sizeof(ShardedCounters<8>) == 65 * 64);
  static_assert(sizeof(ShardedCounters<9>) == 65 * 128);
}

// Invariants (1) and (2), with more living threads than slots: 16 of them use the shared cell.
TEST(ShardedCounters, ContentionLosesNothingAndASumNeverGoesDown) {
  constexpr int kThreads = kThreadSlots + 16;
  constexpr std::uint64_t kAdds = 50'000;
  const auto counters = std::make_unique<ShardedCounters<2>>();
  std::barrier all_alive(kThreads + 1);
  std::vector<std::jthread> pool;
  for (int i = 0; i < kThreads; ++i) {
    pool.emplace_back([&] {
      (void)thread_slot();
      all_alive.arrive_and_wait();
      for (std::uint64_t n = 0; n < kAdds; ++n) {
        counters->add(0);
        counters->add(1, 3);
      }
    });
  }
  all_alive.arrive_and_wait();
  std::uint64_t seen = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t now = counters->sum(0);
    ASSERT_GE(now, seen);
    seen = now;
  }
  pool.clear();
  EXPECT_EQ(counters->sum(0), std::uint64_t{kThreads} * kAdds);
  EXPECT_EQ(counters->sum(1), std::uint64_t{kThreads} * kAdds * 3);
}

// Invariant (1) across owners of one slot: what an ended thread counted stays counted.
TEST(ShardedCounters, ANewOwnerOfASlotGoesOnWhereTheLastOneStopped) {
  ShardedCounters<1> counters;
  for (int i = 0; i < 200; ++i) std::jthread([&] { counters.add(0); }).join();
  EXPECT_EQ(counters.sum(0), 200u);
}

}  // namespace
}  // namespace damper
