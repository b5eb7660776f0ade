#include "damper/timer/heap_queue_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "damper/base/random.h"

namespace damper::timer {
namespace {

struct Entry {
  int at;
  int sequence;
  bool operator==(const Entry&) const = default;
};

TEST(QuaternaryHeap, GivesTheEntriesInOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    QuaternaryHeap<Entry> heap;
    std::vector<Entry> entries;
    for (int i = 0; i < 300; ++i) {
      entries.push_back({static_cast<int>(random.bits() % 50), i});
      heap.push(entries.back());
    }
    const auto dead = [&](const Entry& entry) { return (entry.at + entry.sequence) % 3 == 0; };
    heap.remove_if(dead);
    std::erase_if(entries, dead);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.at < b.at; });
    for (const Entry& entry : entries) {
      ASSERT_FALSE(heap.empty());
      ASSERT_EQ(heap.top(), entry);
      heap.pop();
    }
    ASSERT_TRUE(heap.empty());
  }
}

constexpr Instant at(std::int64_t ns) { return Instant{Duration{ns}}; }

TEST(HeapQueue, GivesEventsInOrderAndTiesInOrderOfInsertion) {
  HeapQueue queue;
  queue.schedule(at(5), {.detail = 1});
  queue.schedule(at(3), {.detail = 2});
  queue.schedule(at(5), {.detail = 3});
  queue.schedule(kNever, {.detail = 4});
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.pop(), (HeapQueue::Due{at(3), {.detail = 2}}));
  queue.schedule(at(1), {.detail = 5});  // Late: it happens now.
  EXPECT_EQ(queue.pop(), (HeapQueue::Due{at(3), {.detail = 5}}));
  EXPECT_EQ(queue.pop(at(4)), std::nullopt);
  EXPECT_EQ(queue.now(), at(3));
  EXPECT_EQ(queue.pop(at(5)), (HeapQueue::Due{at(5), {.detail = 1}}));
  EXPECT_EQ(queue.pop(), (HeapQueue::Due{at(5), {.detail = 3}}));
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.most(), 3u);
}

TEST(HeapQueue, SaysWhenTheNextEventIsDue) {
  HeapQueue queue;
  EXPECT_EQ(queue.next(), kNever);
  const HeapQueue::Timer first = queue.schedule(at(3), {});
  queue.schedule(at(5), {});
  EXPECT_EQ(queue.next(), at(3));
  queue.cancel(first);
  EXPECT_EQ(queue.next(), at(5));
  EXPECT_EQ(queue.now(), at(0));
}

TEST(HeapQueue, SkipsWhatWasCancelledAndSweepsWhenTheDeadAreTheMajority) {
  HeapQueue queue;
  std::vector<HeapQueue::Timer> timers;
  for (std::uint64_t i = 0; i < 100; ++i) timers.push_back(queue.schedule(at(9), {.detail = i}));
  EXPECT_FALSE(queue.cancel({}));
  for (std::size_t i = 0; i < 100; ++i) {
    if (i % 10 == 7) continue;
    EXPECT_TRUE(queue.cancel(timers[i]));
    EXPECT_FALSE(queue.is_pending(timers[i]));
    EXPECT_FALSE(queue.cancel(timers[i]));
  }
  EXPECT_EQ(queue.size(), 10u);
  for (std::uint64_t i = 7; i < 100; i += 10) {
    EXPECT_TRUE(queue.is_pending(timers[i]));
    EXPECT_EQ(queue.pop(), (HeapQueue::Due{at(9), {.detail = i}}));
    EXPECT_FALSE(queue.is_pending(timers[i]));
  }
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace damper::timer
