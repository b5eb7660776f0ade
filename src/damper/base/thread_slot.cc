#include "damper/base/thread_slot.h"

#include <atomic>
#include <bit>
#include <cstdint>

#include "damper/base/atomic.h"

namespace damper::internal {

constinit thread_local int this_thread_slot = -1;

namespace {

constinit Atomic<std::uint64_t> taken{0};
constinit Atomic<std::uint64_t> ever_taken{0};

// Gives the slot back when its thread ends. What runs later in the same thread's ending (another
// thread-local's destructor) uses the shared slot.
struct Return {
  int slot;
  ~Return() {
    if (slot == kSharedSlot) return;
    this_thread_slot = kSharedSlot;
    return_slot(slot);
  }
};

}  // namespace

int take_free_slot() noexcept {
  std::uint64_t seen = taken.load(std::memory_order_relaxed);
  while (~seen != 0) {
    const int slot = std::countr_one(seen);
    if (taken.compare_exchange_weak(seen, seen | (std::uint64_t{1} << slot),
                                    std::memory_order_acquire, std::memory_order_relaxed)) {
      ever_taken.fetch_or(std::uint64_t{1} << slot, std::memory_order_release);
      return slot;
    }
  }
  return kSharedSlot;
}

void return_slot(int slot) noexcept {
  taken.fetch_and(~(std::uint64_t{1} << slot), std::memory_order_release);
}

int take_thread_slot() noexcept {
  static thread_local Return giver{take_free_slot()};
  this_thread_slot = giver.slot;
  return giver.slot;
}

}  // namespace damper::internal

namespace damper {

int thread_slots_used() noexcept {
  return static_cast<int>(std::bit_width(internal::ever_taken.load(std::memory_order_acquire)));
}

}  // namespace damper
