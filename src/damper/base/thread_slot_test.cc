#include "damper/base/thread_slot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace damper {
namespace {

std::multiset<int> slots_of_living_threads(int threads) {
  std::multiset<int> slots;
  std::mutex mutex;
  std::barrier all_alive(threads);
  std::vector<std::jthread> pool;
  pool.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      {
        const std::lock_guard lock(mutex);
        slots.insert(thread_slot());
      }
      all_alive.arrive_and_wait();
    });
  }
  pool.clear();
  return slots;
}

TEST(ThreadSlot, AThreadKeepsItsSlot) { EXPECT_EQ(thread_slot(), thread_slot()); }

TEST(ThreadSlot, NoTwoLivingThreadsShareOne) {  // Invariant (1).
  const std::multiset<int> slots = slots_of_living_threads(20);
  EXPECT_EQ(std::set(slots.begin(), slots.end()).size(), 20u);
}

TEST(ThreadSlot, WhenNoneIsLeftTheSharedOneIsUsed) {
  const std::multiset<int> slots = slots_of_living_threads(kThreadSlots + 5);
  EXPECT_GE(slots.count(kSharedSlot), 5u);
  EXPECT_EQ(*slots.rbegin(), kSharedSlot);
}

TEST(ThreadSlot, TheSlotsUsedEndAfterTheHighestThatWasTaken) {
  const int before = thread_slots_used();
  const std::multiset<int> slots = slots_of_living_threads(10);
  EXPECT_EQ(thread_slots_used(), std::max(before, *slots.rbegin() + 1));
}

TEST(ThreadSlot, TheFirstSlotIsTakenAlsoAsTheLastThatIsFree) {
  std::vector<int> taken;
  while (taken.size() <= kThreadSlots && (taken.empty() || taken.back() != kSharedSlot)) {
    taken.push_back(internal::take_free_slot());
  }
  EXPECT_EQ(taken.back(), kSharedSlot);
  internal::return_slot(0);
  EXPECT_EQ(internal::take_free_slot(), 0);
  taken.pop_back();
  for (const int slot : taken) internal::return_slot(slot);
}

TEST(ThreadSlot, AnEndedThreadGivesItsSlotBack) {
  for (int i = 0; i < 3 * kThreadSlots; ++i) {
    std::jthread([] { EXPECT_NE(thread_slot(), kSharedSlot); }).join();
  }
}

}  // namespace
}  // namespace damper
