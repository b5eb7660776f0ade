#ifndef DAMPER_BASE_STRIPED_SLOT_RING_H_
#define DAMPER_BASE_STRIPED_SLOT_RING_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/base/slot_ring.h"
#include "damper/base/thread_slot.h"

namespace damper {

// A StripedSlotRing is a SlotRing that is cheap to add to for a process of a few threads, in little
// memory: the first two thread slots have a ring each, the others share one.
//
// Why: between a SlotRing, whose word all threads fight for, and a ShardedSlotRing, which takes 8
// KiB.
// Invariants: those of SlotRing.
// Thread safety: all methods may be called concurrently, carry() with all but itself. An add that
// comes while carry() runs may be forgotten, and what its thread counted in that slot with it.
// Lock-free.
// Cost: 384 bytes. add: a load and a store, or a compare-and-swap. sum: 48 loads.
class StripedSlotRing {
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
    std::uint64_t sum = 0;
    for (const SlotRing<>& ring : rings_) sum += ring.sum(slot);
    return sum;
  }

  // The count of one slot.
  [[nodiscard]] std::uint64_t count(std::uint32_t slot) const noexcept {
    std::uint64_t sum = 0;
    for (const SlotRing<>& ring : rings_) sum += ring.count(slot);
    return sum;
  }

  void carry(const SlotClock& from, const SlotClock& to, Instant now) noexcept {
    for (SlotRing<>& ring : rings_) ring.carry(from, to, now);
  }

 private:
  static constexpr std::size_t kOwn = 2;
  struct alignas(64) Ring : SlotRing<> {};
  std::array<Ring, kOwn + 1> rings_;
};

}  // namespace damper

#endif  // DAMPER_BASE_STRIPED_SLOT_RING_H_
