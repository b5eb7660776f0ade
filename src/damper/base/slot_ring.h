#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "damper/base/atomic.h"
#include "damper/base/instant.h"

namespace damper {

// A Footprint chooses between speed and size, for state that all calls to a dependency share.
//   large: sharded by thread, windows of ten slots. For the few dependencies of a process.
//   small: one copy, windows of five slots. For one of 100,000 webhook endpoints or lab clients.
enum class Footprint : std::uint8_t { large, small };

// A SlotClock numbers the slots of a sliding window: slot = now / width + base, modulo 2^32.
// Instants before the epoch count as the epoch. `base` keeps the numbers growing over a reload.
class SlotClock {
 public:
  constexpr SlotClock() noexcept = default;
  constexpr explicit SlotClock(Duration width, std::uint32_t base = 0) noexcept
      : width_(width), base_(base) {}

  [[nodiscard]] Duration width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t slot(Instant now) const noexcept {
    const std::int64_t since = std::max<std::int64_t>(now.time_since_epoch().count(), 0);
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(since) /
                                      static_cast<std::uint64_t>(width_.count())) +
           base_;
  }
  // An instant of the slot, which is near the one that `now` is in; `now` itself if it is.
  [[nodiscard]] Instant start(std::uint32_t slot_number, Instant now) const noexcept {
    const auto ahead = static_cast<std::int32_t>(slot_number - slot(now));
    return add(now, Duration{width_.count() * ahead});
  }
  // Whether slot `a` is ahead of `b` by no more than threads are apart. All else is behind: the
  // first use of a part may be any number of slots after its construction, more than 2^31 of them
  // on a timeline that began in 1970.
  [[nodiscard]] static constexpr bool is_ahead(std::uint32_t a, std::uint32_t b) noexcept {
    return a != b && a - b <= kLongestLead;
  }
  // The same slots under other numbers.
  [[nodiscard]] SlotClock shifted(std::uint32_t by) const noexcept {
    return SlotClock(width_, base_ + by);
  }

  // The clock that follows this one at a reload: every slot of it is newer than all slots of this
  // one that a ring can hold. REQUIRES: new_width > 0.
  [[nodiscard]] SlotClock followed_by(Duration new_width, Instant now) const noexcept {
    const SlotClock next(new_width);
    return next.shifted(slot(now) + 64 - next.slot(now));
  }

 private:
  static constexpr std::uint32_t kLongestLead = 1U << 16;

  Duration width_{1};
  std::uint32_t base_ = 0;
};

// A TaggedCount is a 32-bit count that belongs to a 32-bit tag, in one atomic word. The first add
// under a newer tag starts again from zero; an add under an older one is dropped. Tags wrap around:
// one is newer than another when it is ahead by less than 2^31.
class TaggedCount {
 public:
  struct Value {
    std::uint32_t tag = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] Value load() const noexcept {
    return unpack(word_.load(std::memory_order_acquire));
  }

  // The count after the add, held at 2^32 - 1; 0 when it was dropped. A compare-and-swap, not an
  // add: a thread that stalls between its look at the tag and its add must not count for a newer
  // one.
  std::uint32_t add(std::uint32_t tag, std::uint32_t n = 1) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      auto [old_tag, count] = unpack(seen);
      if (old_tag != tag) {
        if (count != 0 && static_cast<std::int32_t>(tag - old_tag) < 0) return 0;
        count = 0;
      }
      const std::uint32_t sum = n <= kMost - count ? count + n : kMost;
      if (word_.compare_exchange_weak(seen, pack(tag, sum), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return sum;
      }
    }
  }

  // The same for a word with one writer, without the price of an atomic operation.
  void add_alone(std::uint32_t tag) noexcept {
    const auto [old_tag, count] = unpack(word_.load(std::memory_order_relaxed));
    if (count != 0 && static_cast<std::int32_t>(tag - old_tag) < 0) return;
    const std::uint32_t before = old_tag == tag ? count : 0;
    if (before != kMost) word_.store(pack(tag, before + 1), std::memory_order_release);
  }

  // Takes back one add under the tag, if the word still counts for it.
  void take(std::uint32_t tag) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (unpack(seen).tag == tag && unpack(seen).count != 0 &&
           !word_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
  }

  // Raises the count to at least `least`, under a tag that is not older than the word's.
  void raise(std::uint32_t tag, std::uint32_t least) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const auto [old_tag, count] = unpack(seen);
      const bool newer = static_cast<std::int32_t>(tag - old_tag) > 0 || count == 0;
      if (old_tag == tag ? count >= least : !newer) return;
      if (word_.compare_exchange_weak(seen, pack(tag, least), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return;
      }
    }
  }

  // Multiplies the count by numerator / denominator, rounded up. REQUIRES: 0 <= numerator, 0 <
  // denominator.
  void scale(std::int64_t numerator, std::int64_t denominator) noexcept;

  // Back to zero, if it is still the tag's.
  void clear(std::uint32_t tag) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (unpack(seen).tag == tag && unpack(seen).count != 0 &&
           !word_.compare_exchange_weak(seen, pack(tag, 0), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t pack(std::uint32_t tag, std::uint32_t count) noexcept {
    return std::uint64_t{tag} << 32 | count;
  }
  static constexpr Value unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }

  Atomic<std::uint64_t> word_{0};
};

// A SlotRing counts what happened in the last kLive slots.
//
// Why: a window that is rotated when it is read keeps counts for up to twice its length if it is
// read just under once a slot (trap B3). Here nothing rotates: each word holds the absolute slot
// that it counts, and an old slot is not summed.
// Model: kWords words, one for each slot % kWords; see TaggedCount. Slots come from a SlotClock
// whose width is window / kLive: the window ends now and begins between (kLive - 1) and kLive
// widths ago.
// Invariants:
//   (1) An add for slot s is in sum(t) for every t in [s, s + kLive), and in none from s + kLive
//       on, however often the ring was read in between.
//   (2) An add never counts for another slot than its own; one that is too late is dropped.
//   (3) sum(t) has the slots that another thread is ahead by: up to kWords - kLive of them.
// Thread safety: all methods may be called concurrently, carry() with all but itself; lock-free.
// Cost: 8 * kWords bytes. add: a load and a compare-and-swap. sum: kWords loads.
template <std::uint32_t kLive = 10, std::uint32_t kWords = 16>
class SlotRing {
  static_assert(kLive >= 1 && kLive + 2 <= kWords && std::has_single_bit(kWords));

 public:
  static constexpr std::uint32_t kLiveSlots = kLive;

  // Whether sum(slot) has what was counted under the tag.
  [[nodiscard]] static constexpr bool covers(std::uint32_t slot, std::uint32_t tag) noexcept {
    return slot + (kWords - kLive) - tag < kWords;
  }

  // False when the slot's place belongs to a newer one by now: nothing is counted then.
  bool add(std::uint32_t slot, std::uint32_t n = 1) noexcept {
    return words_[slot % kWords].add(slot, n) != 0;
  }

  // The same, where one thread at a time adds to the ring.
  void add_alone(std::uint32_t slot) noexcept { words_[slot % kWords].add_alone(slot); }

  // Raises a slot's count to at least `least`.
  void raise(std::uint32_t slot, std::uint32_t least) noexcept {
    words_[slot % kWords].raise(slot, least);
  }

  // The count of one slot.
  [[nodiscard]] std::uint32_t count(std::uint32_t slot) const noexcept {
    const auto [tag, count] = words_[slot % kWords].load();
    return tag == slot ? count : 0;
  }

  // Forgets what was counted in a slot.
  void clear(std::uint32_t slot) noexcept { words_[slot % kWords].clear(slot); }

  // Takes one add back, if its slot is still counted.
  void take(std::uint32_t slot) noexcept { words_[slot % kWords].take(slot); }

  // Multiplies every count, rounding up.
  void scale(std::int64_t numerator, std::int64_t denominator) noexcept {
    for (TaggedCount& word : words_) word.scale(numerator, denominator);
  }

  [[nodiscard]] std::uint64_t sum(std::uint32_t slot) const noexcept {
    std::uint64_t total = 0;
    for (const TaggedCount& word : words_) {
      const auto [tag, count] = word.load();
      if (covers(slot, tag)) total += count;
    }
    return total;
  }
  // sum(slot) - count(slot) at one look: an add or a clear() of the slot meanwhile changes nothing.
  [[nodiscard]] std::uint64_t sum_without(std::uint32_t slot) const noexcept {
    std::uint64_t total = 0;
    for (const TaggedCount& word : words_) {
      const auto [tag, count] = word.load();
      if (tag != slot && covers(slot, tag)) total += count;
    }
    return total;
  }

  // Moves the live counts from the slots of one clock to those of the clock that follows it, each
  // by its age. A shorter window forgets what is older than itself. An add under the old clock
  // after this is dropped or expires.
  void carry(const SlotClock& from, const SlotClock& to, Instant now) noexcept {
    std::array<std::uint32_t, kLive> counts{};
    const std::uint32_t old_slot = from.slot(now);
    for (std::uint32_t age = 0; age < kLive; ++age) {
      const auto [tag, count] = words_[(old_slot - age) % kWords].load();
      if (tag == old_slot - age) counts[age] = count;
    }
    for (std::uint32_t age = 0; age < kLive; ++age) {
      const std::int64_t new_age = times(from.width(), age) / to.width();
      if (counts[age] != 0) add(to.slot(now) - static_cast<std::uint32_t>(new_age), counts[age]);
    }
  }

 private:
  std::array<TaggedCount, kWords> words_;
};

// The ring of a footprint.
template <Footprint kFootprint>
using RingOf = std::conditional_t<kFootprint == Footprint::large, SlotRing<>, SlotRing<5, 8>>;

}  // namespace damper
