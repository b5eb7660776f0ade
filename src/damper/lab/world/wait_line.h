#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/check.h"
#include "damper/lab/world/slab.h"

namespace damper::lab {

// A WaitLine is a queue of handles in order of arrival; any of them may leave at any time.
//
// Why: a std::deque would keep handles that have left until they reach the front, which under
// overload is most of them, and it allocates and frees as the queue moves.
// Model: a doubly linked list in an array of slots; slot 0 is its end, before the first and after
// the last. Free slots are linked as well, the last one freed first.
// Thread safety: none. Cost: O(1); 16 bytes for each of the most that ever waited at once, and an
// allocation only at a new maximum.
class WaitLine {
 public:
  using Slot = std::uint32_t;

  // Appends the handle. The slot is valid until it leaves.
  Slot push(Handle handle) {
    if (free_ == kEnd) {
      slots_.push_back({});
      free_ = static_cast<Slot>(slots_.size() - 1);
    }
    const Slot slot = free_;
    free_ = slots_[slot].next;
    const Slot last = slots_[kEnd].previous;
    slots_[slot] = {handle, last, kEnd};
    slots_[last].next = slot;
    slots_[kEnd].previous = slot;
    ++size_;
    return slot;
  }

  // REQUIRES: !empty().
  Handle pop_oldest() noexcept { return leave(slots_[kEnd].next); }
  Handle pop_newest() noexcept { return leave(slots_[kEnd].previous); }

  // Removes the handle in the slot. REQUIRES: the slot is taken.
  Handle leave(Slot slot) noexcept {
    DAMPER_CHECK(slot != kEnd && slots_[slot].previous != kFree);
    const Waiting waiting = slots_[slot];
    slots_[waiting.previous].next = waiting.next;
    slots_[waiting.next].previous = waiting.previous;
    slots_[slot] = {{}, kFree, free_};
    free_ = slot;
    --size_;
    return waiting.handle;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  static constexpr Slot kEnd = 0;
  static constexpr Slot kFree = UINT32_MAX;

  struct Waiting {
    Handle handle{};
    Slot previous = kEnd;  // kFree: the slot is not taken
    Slot next = kEnd;      // of a free slot: the next free one
  };

  std::vector<Waiting> slots_{Waiting{}};
  Slot free_ = kEnd;  // kEnd: none
  std::size_t size_ = 0;
};

}  // namespace damper::lab
