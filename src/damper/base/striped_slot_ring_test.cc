#include "damper/base/striped_slot_ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace damper {
namespace {

using namespace std::chrono_literals;

TEST(StripedSlotRing, SumsWhatAllThreadsAdded) {
  StripedSlotRing ring;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 10; ++i) {  // More than stripes: some share one.
    threads.emplace_back([&] {
      for (int j = 0; j < 2'000; ++j) ring.add(100);
    });
  }
  threads.clear();
  EXPECT_EQ(ring.sum(100), 20'000u);
  EXPECT_EQ(ring.count(100), 20'000u);
  EXPECT_EQ(ring.count(101), 0u);
}

TEST(StripedSlotRing, ForgetsByAbsoluteSlot) {
  StripedSlotRing ring;
  std::jthread([&] { ring.add(100); }).join();
  ring.add(101);
  EXPECT_EQ(ring.sum(109), 2u);
  EXPECT_EQ(ring.sum(110), 1u);
  EXPECT_EQ(ring.sum(111), 0u);
}

TEST(StripedSlotRing, CarriesCountsToTheSlotsOfAnotherClock) {
  StripedSlotRing ring;
  const SlotClock from(1s, 0);
  ring.add(from.slot(Instant{104s}));
  const SlotClock to = from.followed_by(2s, Instant{104s});
  ring.carry(from, to, Instant{104s});
  EXPECT_EQ(ring.sum(to.slot(Instant{122s})), 1u);
}

}  // namespace
}  // namespace damper
