#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "damper/timer/event_pool.h"

namespace damper::timer {

// An EventWheel keeps the far events of an EventQueue: a hierarchical timing wheel (Varghese and
// Lauck, "Hashed and hierarchical timing wheels", SOSP 1987) that is exact to the nanosecond.
//
// Why: most timers are cancelled. In a heap each costs a walk up and, dead or alive, one down;
// here it costs two writes to a list, and two more to leave it.
// Model: an instant is 11 digits of 6 bits. An event lies at the level of the highest digit in
// which it differs from the base, in the bucket of that digit. So the earliest events lie in the
// first bucket of the lowest level that has one. Buckets are circular lists in order of insertion.
// take() moves the base to the first bucket's start; a bucket of up to 64 events is taken and
// sorted, a larger one spread over the levels below. The lowest level needs no sort: its buckets
// are single instants. So levels cost nothing where events are sparse, and there is no tick.
// Invariants:
//   (1) No event is before the base; each lies where the base says.
//   (2) Events of one instant are in one bucket, in order: when the base comes to share a digit
//       with them, they move on together.
//   (3) take() gives the earliest events, in order, and never moves the base beyond `until`: who
//       adds nothing before the instant that was asked for never makes the base go back.
//   (4) A slot is in at most one bucket; holds() says whether.
// Thread safety: none.
// Cost: 8 bytes a slot and 6 KB. add, remove: O(1). take moves an event at most 10 times between
// two moves back of the base; about twice with a million events pending over some seconds.
class EventWheel {
 public:
  using Index = EventPool::Index;
  // What is taken: an event's instant in nanoseconds, and its id in the pool.
  struct Key {
    std::uint64_t at;
    EventPool::Id id;
  };
  static constexpr std::size_t kTake = 64;
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;  // after every instant

  EventWheel();

  // Makes room for slots [0, slots).
  void grow(std::size_t slots) { links_.resize(kBuckets + slots); }

  [[nodiscard]] bool empty() const noexcept { return levels_ == 0; }
  [[nodiscard]] bool holds(Index slot) const noexcept { return links_[node(slot)].next != kNone; }

  // Adds an event after those of its instant. REQUIRES: !holds(slot), base <= at < kEnd.
  void add(Index slot, std::uint64_t at) noexcept {
    const Node bucket = place(at);
    link(slot, links_[bucket].previous, bucket);
  }
  // Adds one before those of its instant: what was taken comes back, the latest first. REQUIRES:
  // the same.
  void put_back(Index slot, std::uint64_t at) noexcept {
    const Node bucket = place(at);
    link(slot, bucket, links_[bucket].next);
  }

  // REQUIRES: holds(slot).
  void remove(Index slot) noexcept {
    const Link link = links_[node(slot)];
    links_[node(slot)].next = kNone;
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    if (link.next == link.previous) mark_empty(link.next);  // Only a bucket is its own neighbour.
  }

  struct Taken {
    std::size_t count = 0;
    std::uint64_t rest = kEnd;  // All that are left are at or after it; kEnd: none are.
  };
  // Takes the earliest events out, at most kTake, and writes their keys in order, the earliest
  // last. It takes none if all are later than `until`, though some may be that it takes.
  Taken take(const EventPool& pool, std::uint64_t until, std::span<Key, kTake> keys) noexcept;

  // Lets events from `base` on be added, none of those that are here being before it. Back, the
  // base always moves. Forth, it moves if none of them would have to: events near it are then
  // added lower, and moved less often.
  void rebase(std::uint64_t base) noexcept;

 private:
  using Node = std::uint32_t;  // a bucket, or kBuckets + slot
  static constexpr unsigned kBits = 6;
  static constexpr unsigned kWidth = 1U << kBits;
  static constexpr unsigned kLevels = 11;
  static constexpr Node kBuckets = kLevels * kWidth;
  static constexpr Node kNone = ~Node{0};
  struct Link {
    Node next = kNone;
    Node previous = kNone;
  };

  static constexpr Node node(Index slot) noexcept { return kBuckets + slot; }
  static constexpr unsigned level_of(std::uint64_t difference) noexcept {
    return (static_cast<unsigned>(std::bit_width(difference | 1)) - 1) / kBits;
  }

  // The bucket of an event, which is about to come.
  Node place(std::uint64_t at) noexcept {
    const unsigned level = level_of(at ^ base_);
    const auto digit = static_cast<unsigned>(at >> (kBits * level)) % kWidth;
    bits_[level] |= std::uint64_t{1} << digit;
    levels_ |= 1U << level;
    return level * kWidth + digit;
  }
  void link(Index slot, Node previous, Node next) noexcept {
    links_[node(slot)] = {.next = next, .previous = previous};
    links_[previous].next = node(slot);
    links_[next].previous = node(slot);
  }
  void mark_empty(Node bucket) noexcept {
    const unsigned level = bucket / kWidth;
    bits_[level] &= ~(std::uint64_t{1} << bucket % kWidth);
    if (bits_[level] == 0) levels_ &= ~(1U << level);
  }
  void spread(const EventPool& pool, Node bucket) noexcept;
  void splice(Node from, Node to) noexcept;

  std::vector<Link> links_;                    // of the buckets, then of the slots
  std::array<std::uint64_t, kLevels> bits_{};  // by level: which buckets have events
  std::uint32_t levels_ = 0;                   // which levels have
  std::uint64_t base_ = 0;
};

}  // namespace damper::timer
