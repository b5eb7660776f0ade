#pragma once

namespace damper {

// A thread slot is a small number that a living thread has to itself, for counters with a single
// writer.
//
// Why: an atomic add that two threads share costs both of them the cache line. With a slot of its
// own a thread adds with a plain load and store, which is several times cheaper.
// Model: 64 slots, taken on a thread's first use and given back when it ends. A thread that finds
// none gets kSharedSlot, where adding must be atomic.
// Invariants:
//   (1) No two living threads have the same slot, but for kSharedSlot.
//   (2) What the slot's last owner wrote happens before what its next owner reads.
// Cost: after the first use, one thread-local load.
inline constexpr int kThreadSlots = 64;
inline constexpr int kSharedSlot = kThreadSlots;

namespace internal {
extern constinit thread_local int this_thread_slot;
int take_thread_slot() noexcept;
// The lowest free slot, or kSharedSlot; and its return. REQUIRES: the slot is taken.
int take_free_slot() noexcept;
void return_slot(int slot) noexcept;
}  // namespace internal

[[nodiscard]] inline int thread_slot() noexcept {
  const int slot = internal::this_thread_slot;
  return slot >= 0 ? slot : internal::take_thread_slot();
}

// How many slots have ever been taken: those from here to kSharedSlot have never been written to.
[[nodiscard]] int thread_slots_used() noexcept;

}  // namespace damper
