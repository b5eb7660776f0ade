#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "damper/base/check.h"

namespace damper::timer {

// An event: plain data, dispatched by the queue's owner.
struct TimedEvent {
  std::uint32_t kind = 0;     // the world's own enumeration
  std::uint32_t subject = 0;  // index of the actor
  std::uint64_t detail = 0;

  bool operator==(const TimedEvent&) const = default;
};
static_assert(sizeof(TimedEvent) == 16 && std::is_trivially_copyable_v<TimedEvent>);

// A BasicEventPool keeps events in numbered slots that are used again, and names each use.
//
// Why: a simulation schedules billions of events and has millions at once. And an id of
// a removed event must not find the event that has its slot now.
// Model: an array of slots. An id is a slot's index below the slot's generation; the generation
// grows when an event is removed. Slot 0 is unused, so that 0 is no event's id. Free slots are
// linked through `at`, the last one freed first: it is the one still in the cache.
// Invariants:
//   (1) No two events have the same id, ever. A slot whose generations are used up (2^38 events
//       have been in it) is used no more.
//   (2) holds(id) is true from the add that returned it to its remove, and for no other number.
//   (3) There are as many slots as there were events at once, besides the used up ones; at most
//       2^kIndexBits - 1 (67 million). The next one is a failed DAMPER_CHECK.
// Thread safety: none.
// Cost: 32 bytes a slot; add and remove touch one cache line. grow may allocate (it doubles).
template <unsigned kIndexBits>
class BasicEventPool {
 public:
  using Id = std::uint64_t;
  using Index = std::uint32_t;

  struct alignas(32) Slot {
    std::uint64_t at = 0;  // nanoseconds; of a free slot: the next free one
    Id id = 0;             // of a free slot: the id of the next event in it
    TimedEvent event;
  };

  BasicEventPool() : slots_(1, Slot{.at = 0, .id = ~Id{0}, .event = {}}) {}

  [[nodiscard]] static constexpr Index index(Id id) noexcept {
    return static_cast<Index>(id & (kGeneration - 1));
  }

  // Whether the next add needs grow() before it.
  [[nodiscard]] bool full() const noexcept { return free_ == 0; }
  // Makes room for one more event.
  void grow() {
    DAMPER_CHECK(slots_.size() < kGeneration);
    slots_.push_back({.at = free_, .id = kGeneration | slots_.size(), .event = {}});
    free_ = static_cast<Index>(slots_.size() - 1);
  }

  // REQUIRES: !full().
  Id add(std::uint64_t at, const TimedEvent& event) noexcept {
    Slot& slot = slots_[free_];
    free_ = static_cast<Index>(slot.at);
    slot.at = at;
    slot.event = event;
    return slot.id;
  }

  // REQUIRES: an event is in the slot.
  void remove(Index index) noexcept {
    Slot& slot = slots_[index];
    slot.id += kGeneration;
    if (slot.id < kGeneration) return;  // Used up: the generation is 0 again, which no event has.
    slot.at = free_;
    free_ = index;
  }

  // REQUIRES: the id came from this pool, or is 0.
  [[nodiscard]] bool holds(Id id) const noexcept { return slots_[index(id)].id == id; }

  [[nodiscard]] const Slot& operator[](Index index) const noexcept { return slots_[index]; }
  // How many slots there are, the first one included; an index is below it.
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }

 private:
  static constexpr Id kGeneration = Id{1} << kIndexBits;

  std::vector<Slot> slots_;
  Index free_ = 0;
};

using EventPool = BasicEventPool<26>;
static_assert(sizeof(EventPool::Slot) == 32);

}  // namespace damper::timer
