#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "damper/base/thread_slot.h"

namespace damper {

// ShardedCounters<N> are N counters that many threads add to all the time and that are rarely read.
//
// Why: one atomic counter makes every thread that adds to it wait for the others' cache line; on
// the hot path that costs more than the decision that is counted.
// Model: a shard of N cells for each thread slot (thread_slot.h), on cache lines of its own. A
// slot has one living owner, so adding is a plain load and store; the shared slot, for threads
// beyond the 64th, adds atomically. A counter's value is the sum of its cells.
// Invariants:
//   (1) Nothing is lost: when all threads that added have been joined, sum() is the sum of what
//       was added, modulo 2^64.
//   (2) As seen by one thread, sum() never decreases (short of 2^64).
// Thread safety: all methods may be called concurrently. Sums of two counters are not taken at the
// same moment.
// Cost: add() is a thread-local load, a load and a store; sum() reads 65 cache lines. Memory: 65 *
// 8 * N bytes, N rounded up to a multiple of 8.
template <int N>
class ShardedCounters {
  static_assert(N > 0);

 public:
  using Word = std::uint64_t;

  ShardedCounters() = default;
  ShardedCounters(const ShardedCounters&) = delete;
  ShardedCounters& operator=(const ShardedCounters&) = delete;

  // REQUIRES: 0 <= index < N.
  void add(int index, std::uint64_t delta = 1) noexcept {
    const int slot = thread_slot();
    std::atomic<std::uint64_t>& cell = shards_[at(slot)].cells[at(index)];
    if (slot != kSharedSlot) [[likely]] {
      cell.store(cell.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
    } else {
      cell.fetch_add(delta, std::memory_order_relaxed);
    }
  }

  // REQUIRES: 0 <= index < N.
  [[nodiscard]] std::uint64_t sum(int index) const noexcept {
    std::uint64_t sum = 0;
    for (const Shard& shard : shards_)
      sum += shard.cells[at(index)].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Shard {
    std::array<std::atomic<std::uint64_t>, std::size_t{N}> cells{};
  };

  static constexpr std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }

  std::array<Shard, kThreadSlots + 1> shards_{};
};

// PlainCounters<N> are N counters in one copy, with the interface of ShardedCounters, for state of
// which there are many.
// Cost: add() is one atomic add; 4 * N bytes; a counter wraps at 2^32.
template <int N>
class PlainCounters {
 public:
  using Word = std::uint32_t;

  // REQUIRES: 0 <= index < N.
  void add(int index, Word delta = 1) noexcept {
    cells_[static_cast<std::size_t>(index)].fetch_add(delta, std::memory_order_relaxed);
  }
  // REQUIRES: 0 <= index < N.
  [[nodiscard]] std::uint64_t sum(int index) const noexcept {
    return cells_[static_cast<std::size_t>(index)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<Word>, std::size_t{N}> cells_{};
};

}  // namespace damper
