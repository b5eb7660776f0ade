#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/base/slot_ring.h"
#include "damper/base/thread_slot.h"

namespace damper {

// A ShardedSlotRing is a SlotRing for what happens on every call and is summed rarely: the first
// kOwn thread slots have a ring each, all other threads share one.
//
// Why: an atomic add that two threads share costs more than the call's other bookkeeping together.
// kOwn is a choice between memory and the number of threads that gain.
// Model: a thread adds to its own ring with a plain load and store, to the shared one with a
// compare-and-swap. A sum reads the rings that were ever used.
// Invariants: those of SlotRing.
// Thread safety: all methods may be called concurrently, carry() with all but itself. An add that
// during carry() may be lost, with all that its thread counted in that slot.
// Lock-free.
// Cost: 128 * (kOwn + 1) bytes. sum: 16 loads for each ring that was used.
template <std::size_t kOwn = kThreadSlots>
class ShardedSlotRing {
  static_assert(kOwn <= kThreadSlots);

 public:
  void add(std::uint32_t slot) noexcept {
    const auto owner = static_cast<std::size_t>(thread_slot());
    if (owner < kOwn) [[likely]] {
      rings_[owner].add_alone(slot);
    } else {
      rings_[kOwn].add(slot);
    }
  }

  [[nodiscard]] std::uint64_t sum(std::uint32_t slot) const noexcept {
    std::uint64_t sum = rings_[kOwn].sum(slot);
    for (std::size_t i = 0; i < used(); ++i) sum += rings_[i].sum(slot);
    return sum;
  }
  // sum(slot) - count(slot); see SlotRing.
  [[nodiscard]] std::uint64_t sum_without(std::uint32_t slot) const noexcept {
    std::uint64_t sum = rings_[kOwn].sum_without(slot);
    for (std::size_t i = 0; i < used(); ++i) sum += rings_[i].sum_without(slot);
    return sum;
  }

  // The count of one slot.
  [[nodiscard]] std::uint64_t count(std::uint32_t slot) const noexcept {
    std::uint64_t sum = 0;
    for (const Ring& ring : rings_) sum += ring.count(slot);
    return sum;
  }

  void carry(const SlotClock& from, const SlotClock& to, Instant now) noexcept {
    for (Ring& ring : rings_) ring.carry(from, to, now);
  }

 private:
  struct alignas(64) Ring : SlotRing<> {};

  static std::size_t used() noexcept {
    return std::min(kOwn, static_cast<std::size_t>(thread_slots_used()));
  }

  std::array<Ring, kOwn + 1> rings_;
};

}  // namespace damper
