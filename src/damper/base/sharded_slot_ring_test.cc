#include "damper/base/sharded_slot_ring.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace damper {
namespace {

using namespace std::chrono_literals;

template <class Ring>
class AnyShardedSlotRing : public testing::Test {};
using Rings = testing::Types<ShardedSlotRing<>, ShardedSlotRing<2>, ShardedSlotRing<0>>;
TYPED_TEST_SUITE(AnyShardedSlotRing, Rings);

TYPED_TEST(AnyShardedSlotRing, SumsWhatAllThreadsAdded) {
  TypeParam ring;
  constexpr int kThreads = kThreadSlots + 6;  // So that some share a ring in any case.
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
  EXPECT_EQ(ring.count(100), 1'000u * kThreads);
  EXPECT_EQ(ring.count(101), 0u);
}

TYPED_TEST(AnyShardedSlotRing, ForgetsByAbsoluteSlot) {
  TypeParam ring;
  std::jthread([&] { ring.add(100); }).join();
  ring.add(101);
  EXPECT_EQ(ring.sum(109), 2u);
  EXPECT_EQ(ring.sum(110), 1u);
  EXPECT_EQ(ring.sum(111), 0u);
  ring.add(117);  // The place of slot 101.
  EXPECT_EQ(ring.sum(117), 1u);
  ring.add(101);  // Too late.
  EXPECT_EQ(ring.sum(117), 1u);
}

TYPED_TEST(AnyShardedSlotRing, TheSumWithoutASlotIsThatOfTheOthers) {
  TypeParam ring;
  const auto add_some = [&ring] {
    ring.add(100);
    ring.add(101);
    ring.add(101);
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(add_some);
  threads.clear();
  add_some();
  EXPECT_EQ(ring.sum_without(101), 4u);
  EXPECT_EQ(ring.sum_without(102), 12u);
}

TYPED_TEST(AnyShardedSlotRing, CarriesCountsToTheSlotsOfAnotherClock) {
  TypeParam ring;
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
