#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/work_queue/work_queue.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// What the test knows of a key. The clock that orders adds and runs is `tick`.
struct Known {
  std::atomic<int> workers{0};
  std::atomic<std::uint64_t> last_add{0};  // the tick before the latest add that was taken
  std::atomic<std::uint64_t> last_run{0};  // the tick at the start of the latest run
};

// 8 producers and 8 workers on few keys: adds, delayed adds and requeues meet runs all the time.
TEST(WorkQueueStress, NoKeyRunsTwiceAtOnceAndNoAddIsLost) {
  constexpr std::size_t kKeys = 64;
  constexpr int kAdds = kSanitized ? 5'000 : 50'000;
  std::array<Known, kKeys> known;
  std::atomic<std::uint64_t> tick{1};
  std::atomic<std::uint64_t> runs{0};
  WorkQueue<std::size_t> queue;

  const auto on_add = [&](std::size_t key, std::uint64_t before) {
    std::uint64_t last = known[key].last_add.load();
    while (last < before && !known[key].last_add.compare_exchange_weak(last, before)) {
    }
  };
  const auto work = [&](std::uint64_t seed) {
    Random random(seed);
    while (auto item = queue.get()) {
      Known& key = known[item.key()];
      ASSERT_EQ(key.workers.fetch_add(1), 0) << "key " << item.key() << " on two workers";
      key.last_run.store(tick.fetch_add(1));
      ++runs;
      key.workers.fetch_sub(1);
      const std::uint64_t before = tick.fetch_add(1);
      if (random.bits() % 16 == 0 && !queue.is_closed()) {
        const std::size_t again = item.key();
        item.done_after(Duration{static_cast<std::int64_t>(random.bits() % 100'000)});
        if (!queue.is_closed()) on_add(again, before);
      } else {
        item.done();
      }
    }
  };
  const auto produce = [&](std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < kAdds; ++i) {
      const std::size_t key = random.bits() % kKeys;
      const std::uint64_t before = tick.fetch_add(1);
      const auto result =
          random.bits() % 4 == 0
              ? queue.add_after(key, Duration{static_cast<std::int64_t>(random.bits() % 200'000)})
              : queue.add(key);
      ASSERT_TRUE(is_taken(result.added));
      on_add(key, before);
    }
  };

  std::vector<std::jthread> workers;
  for (std::uint64_t i = 0; i < 8; ++i) workers.emplace_back(work, i);
  {
    std::vector<std::jthread> producers;
    for (std::uint64_t i = 0; i < 8; ++i) producers.emplace_back(produce, 100 + i);
  }
  const auto drained = queue.drain();
  EXPECT_TRUE(drained.empty);
  workers.clear();

  // Each add was followed by a run that began after it, or its key was handed back.
  std::array<bool, kKeys> handed_back{};
  for (const auto& key : drained.unfinished) handed_back[key.key] = true;
  for (std::size_t i = 0; i < kKeys; ++i) {
    EXPECT_TRUE(handed_back[i] || known[i].last_run > known[i].last_add) << "key " << i;
  }
  const QueueStats stats = queue.stats();
  EXPECT_EQ(stats.ready + stats.delayed + stats.running, 0u);
  EXPECT_EQ(stats.spurious_done, 0u);
  EXPECT_GT(runs, kKeys);
  EXPECT_GT(stats.marked, 0u);
  EXPECT_GT(stats.merged, 0u);
}

// Ten million items, every one with a key of its own, some of them delayed; the program does not
// grow after the first tenth.
TEST(WorkQueueStress, TenMillionItemsLeaveNothingBehind) {
  constexpr std::uint64_t kItems = kSanitized ? 200'000 : 10'000'000;
  WorkQueue<std::string> queue;
  std::string key(24, '0');
  std::uint64_t done = 0;
  std::size_t warm = 0;
  const auto allocated = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  for (std::uint64_t i = 0; i < kItems; ++i) {
    for (std::size_t digit = 0; digit < 16; ++digit)
      key[digit] = "0123456789abcdef"[i >> 4 * digit & 15];
    if (i % 64 == 0) {
      queue.add_after(key, 10us);
    } else {
      queue.add(key);
    }
    if (i % 512 == 511) {
      while (auto item = queue.try_get()) ++done, item.done();
    }
    if (i == kItems / 10) warm = allocated();
  }
  while (done < kItems) {
    if (auto item = queue.get()) ++done, item.done();
  }
  if (!kSanitized) {
    EXPECT_EQ(allocated(), warm);
  }
  const QueueStats stats = queue.stats();
  EXPECT_EQ(stats.adds, kItems);
  EXPECT_EQ(stats.ready + stats.delayed + stats.running + stats.groups, 0u);
}

}  // namespace
}  // namespace damper::queue
