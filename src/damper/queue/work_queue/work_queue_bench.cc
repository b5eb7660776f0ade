#include "damper/queue/work_queue/work_queue.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "damper/base/random.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

// A second thread that sleeps from the first of these benchmarks to the end of the program. In a
// process of one thread the C library's mutexes do without atomic operations, and all would look
// three times as cheap as they are where a queue is of use.
void keep_a_second_thread() {
  static const std::jthread kCompanion([](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any line;
    std::unique_lock lock(mutex);
    line.wait(lock, stop, [] { return false; });
  });
}

std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    keys.push_back("deployments/web-" + std::string(8 - number.size(), '0') + number);
  }
  return keys;  // 24 characters each
}

const std::vector<std::string>& thousand_keys() {
  static const std::vector<std::string> kKeys = make_keys(1000);
  return kKeys;
}

// What any queue has to pay that takes a key once and locks for add, get and done. Every claim
// below is a multiple of this, from one run.
void BM_QueueFloor(benchmark::State& state) {
  keep_a_second_thread();
  const auto& keys = thousand_keys();
  std::mutex mutex;
  boost::unordered_flat_map<std::string_view, std::uint32_t> map;
  map.reserve(1000);
  for (std::size_t i = 0; i < 999; ++i) map.emplace(keys[i], 0);  // As full as the queue may be.
  map.clear();
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string_view key = keys[next];
    if (++next == keys.size()) next = 0;
    {
      const std::lock_guard lock(mutex);
      if (map.find(key) == map.end()) map.emplace(key, 1);
    }
    { const std::lock_guard lock(mutex); }
    {
      const std::lock_guard lock(mutex);
      map.erase(key);
    }
  }
}
BENCHMARK(BM_QueueFloor);

// One key through the queue: added, handed out, done. All on one thread, 1000 keys in turn.
void BM_QueueAddGetDone(benchmark::State& state) {
  keep_a_second_thread();
  const auto& keys = thousand_keys();
  WorkQueue<std::string> queue;
  std::size_t next = 0;
  for (auto _ : state) {
    queue.add(keys[next]);
    if (++next == keys.size()) next = 0;
    auto item = queue.get();
    benchmark::DoNotOptimize(item.key().data());
    item.done();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_QueueAddGetDone)->UseRealTime();

// A key is added that waits already.
void BM_QueueAddDuplicate(benchmark::State& state) {
  keep_a_second_thread();
  const auto& keys = thousand_keys();
  WorkQueue<std::string> queue;
  for (const std::string& key : keys) queue.add(key);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(queue.add(keys[next]));
    if (++next == keys.size()) next = 0;
  }
}
BENCHMARK(BM_QueueAddDuplicate);

// A key is added for later while 100,000 others wait for their time, an hour or two from now. After
// a thousand of them, untimed, the thousand are taken out again. Each key is a new one.
void BM_QueueAddAfter(benchmark::State& state) {
  keep_a_second_thread();
  constexpr std::int64_t kBatch = 1000;
  WorkQueue<std::string> queue;
  Random random(1);
  const auto delay = [&] {
    return Duration(1h) + Duration{static_cast<std::int64_t>(random.draw() * 3.6e12)};
  };
  for (const std::string& key : make_keys(100'000)) queue.add_after(key, delay());
  std::vector<std::string> keys = make_keys(kBatch);
  std::uint32_t round = 0;
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    ++round;
    for (std::string& key : keys) {
      for (std::uint32_t i = 0; i < 4; ++i) key[12 + i] = "0123456789abcdef"[round >> 4 * i & 15];
    }
    state.ResumeTiming();
    for (const std::string& key : keys) queue.add_after(key, delay());
    state.PauseTiming();
    for (const std::string& key : keys) queue.add(key);
    while (auto item = queue.try_get()) item.done();
    state.ResumeTiming();
  }
  state.counters["waiting"] = static_cast<double>(queue.stats().delayed);
}
BENCHMARK(BM_QueueAddAfter);

// The whole life of a delayed key: 100,000 are delayed; each iteration adds another one and takes
// one that is due, if one is, from memory that has gone cold.
// Delays are uniform, and as long as 200,000 iterations take at the pace of the last ones: that
// number are delayed that one is due in each. `waiting` says how many were, `left` how many left
// for each that came. Each key is a new one.
void BM_QueueDelayedItem(benchmark::State& state) {
  keep_a_second_thread();
  constexpr int kLook = 10'000;
  std::string key = thousand_keys()[0];
  WorkQueue<std::string> queue;
  Random random(1);
  double pace_ns = 250;
  std::uint32_t next = 0;
  std::int64_t in_queue = 0;
  std::int64_t left = 0;
  const auto add = [&](double at_least) {
    const double delay = (at_least + random.draw()) * 200'000 * pace_ns;
    ++next;
    for (std::uint32_t i = 0; i < 8; ++i) key[16 + i] = "0123456789abcdef"[next >> 4 * i & 15];
    queue.add_after(key, Duration{static_cast<std::int64_t>(delay) + 1});
    ++in_queue;
  };
  const auto take = [&] {
    if (auto item = queue.try_get()) ++left, --in_queue, item.done();
  };
  double waiting = 0;
  double looks = 0;
  int steps = 0;
  Instant last = run::now();
  const auto step = [&] {
    add(0);
    take();
    if (in_queue > 101'000) [[unlikely]]
      take();  // After a pause, many are due at once.
    if (++steps % kLook != 0) return;
    const Instant now = run::now();
    pace_ns = 0.9 * pace_ns + 0.1 * static_cast<double>(between(last, now).count()) / kLook;
    last = now;
    waiting += static_cast<double>(queue.stats().delayed);
    ++looks;
  };
  for (int i = 0; i < 100'000; ++i) add(0.05);
  last = run::now();
  for (int i = 0; i < 600'000; ++i) step();
  waiting = looks = 0;
  left = 0;
  for (auto _ : state) step();
  state.counters["waiting"] = waiting / looks;
  state.counters["left"] = static_cast<double>(left) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_QueueDelayedItem)->MinTime(0.5);

// Two threads on one queue, each a producer and a worker: it adds a key, takes one, which may be
// the other's, and works it off. 500 keys each, at most two in the queue, so that none is merged.
// The time is that of the process for one key: both run at once.
void BM_QueueTwoThreads(benchmark::State& state) {
  const auto& keys = thousand_keys();
  static WorkQueue<std::string> queue;
  const std::size_t first = state.thread_index() == 0 ? 0 : 500;
  std::size_t next = first;
  for (auto _ : state) {
    queue.add(keys[next]);
    if (++next == first + 500) next = first;
    auto item = queue.get();
    benchmark::DoNotOptimize(item.key().data());
    item.done();
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    state.counters["merged"] = static_cast<double>(queue.stats().merged + queue.stats().marked);
  }
}
BENCHMARK(BM_QueueTwoThreads)->Threads(2)->UseRealTime();

// One thread adds, the other takes and works off: every key goes from one core to the other and its
// memory back. No key is added while it is in the queue: at most 512 of the 1000 keys, which go
// round, are there at once; the producer waits then until there are 256. An iteration is a key that
// was added and done.
void BM_QueueHandOver(benchmark::State& state) {
  const auto& keys = thousand_keys();
  WorkQueue<std::string> queue;
  std::atomic<std::uint64_t> done{0};
  std::jthread consumer([&] {
    std::uint64_t count = 0;
    while (auto item = queue.get()) {
      benchmark::DoNotOptimize(item.key().data());
      item.done();
      done.store(++count, std::memory_order_release);
    }
  });
  std::size_t next = 0;
  std::uint64_t added = 0;
  std::uint64_t seen = 0;
  for (auto _ : state) {
    if (added - seen >= 512) {
      while (added - (seen = done.load(std::memory_order_acquire)) > 256) {
        std::this_thread::yield();
      }
    }
    queue.add(keys[next]);
    if (++next == keys.size()) next = 0;
    ++added;
  }
  (void)queue.drain();
  state.SetItemsProcessed(state.iterations());
  state.counters["merged"] = static_cast<double>(queue.stats().merged + queue.stats().marked);
}
BENCHMARK(BM_QueueHandOver)->UseRealTime();

}  // namespace
}  // namespace damper::queue
