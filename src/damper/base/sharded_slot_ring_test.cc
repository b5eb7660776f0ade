#include "damper/base/sharded_slot_ring.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace damper {
namespace {

using namespace std::chrono_literals;

TEST(ShardedSlotRing, SumsWhatAllThreadsAdded) {
  ShardedSlotRing ring;
  constexpr int kThreads = kThreadSlots + 6;  // So that some share a ring.
  std::barrier all_alive(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      (void)thread_slot();
      all_alive.arrive_and_wait();
      for (int j = 0; j < 1'000; ++j) ring.add(100);
    });
  }
  threads.clear();
  EXPECT_EQ(ring.sum(100), 1'000u * kThreads);
}

TEST(ShardedSlotRing, ForgetsByAbsoluteSlot) {
  ShardedSlotRing ring;
  ring.add(100);
  ring.add(101);
  EXPECT_EQ(ring.sum(109), 2u);
  EXPECT_EQ(ring.sum(110), 1u);
  EXPECT_EQ(ring.sum(111), 0u);
  ring.add(116);  // The place of slot 100.
  EXPECT_EQ(ring.sum(116), 1u);
  ring.add(100);  // Too late.
  EXPECT_EQ(ring.sum(116), 1u);
}

TEST(ShardedSlotRing, CarriesCountsToTheSlotsOfAnotherClock) {
  ShardedSlotRing ring;
  const SlotClock from(1s, 0);
  ring.add(from.slot(Instant{100s}));
  ring.add(from.slot(Instant{104s}));
  const SlotClock to = from.followed_by(2s, Instant{104s});
  ring.carry(from, to, Instant{104s});
  EXPECT_EQ(ring.sum(to.slot(Instant{104s})), 2u);
  EXPECT_EQ(ring.sum(to.slot(Instant{122s})), 1u);
}

}  // namespace
}  // namespace damper
