#include "damper/timer/event_wheel.h"

#include <algorithm>

namespace damper::timer {
namespace {

using Key = EventWheel::Key;

// Below it, sorting by digit costs more than it saves.
constexpr std::size_t kFew = 12;

// Sorts from the latest to the earliest; of one instant, what stands first stays first.
void insertion_sort(std::span<Key> keys) noexcept {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const Key key = keys[i];
    std::size_t to = i;
    for (; to > 0 && keys[to - 1].at < key.at; --to) keys[to] = keys[to - 1];
    keys[to] = key;
  }
}

// The same for keys that agree in all digits above the one at `shift`: first by that digit, which
// leaves little to do.
void sort(std::span<Key> keys, unsigned shift) noexcept {
  if (keys.size() > kFew) {
    std::array<std::uint8_t, 64> place{};  // of the digit: how many keys, then where the next goes
    const auto digit = [&](const Key& key) { return (key.at >> shift) % 64; };
    for (const Key& key : keys) ++place[digit(key)];
    std::uint8_t before = 0;
    for (std::size_t i = place.size(); i-- > 0;) {
      const std::uint8_t count = place[i];
      place[i] = before;
      before = static_cast<std::uint8_t>(before + count);
    }
    std::array<Key, EventWheel::kTake> sorted;
    for (const Key& key : keys) sorted[place[digit(key)]++] = key;
    std::copy_n(sorted.begin(), keys.size(), keys.begin());
  }
  insertion_sort(keys);
}

}  // namespace

EventWheel::EventWheel() : links_(kBuckets) {
  for (Node bucket = 0; bucket < kBuckets; ++bucket) links_[bucket] = {bucket, bucket};
}

EventWheel::Taken EventWheel::take(const EventPool& pool, std::uint64_t until,
                                   std::span<Key, kTake> keys) noexcept {
  while (levels_ != 0) {
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    const auto digit = static_cast<unsigned>(std::countr_zero(bits_[level]));
    const Node bucket = level * kWidth + digit;
    const unsigned shift = kBits * level;
    const std::uint64_t start = ((base_ >> shift & ~std::uint64_t{kWidth - 1}) | digit) << shift;
    if (start > until) return {0, start};
    base_ = start;

    std::size_t count = 0;
    Node end = links_[bucket].next;
    for (; end != bucket && count < kTake; end = links_[end].next) {
      const EventPool::Slot& slot = pool[end - kBuckets];
      keys[count++] = {slot.at, slot.id};
    }
    if (end != bucket && level > 0) {
      spread(pool, bucket);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) links_[node(EventPool::index(keys[i].id))].next = kNone;
    links_[bucket].next = end;
    links_[end].previous = bucket;
    std::reverse(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count));
    if (end != bucket) return {count, start};  // The rest of this instant.
    mark_empty(bucket);
    if (level > 0) sort(keys.first(count), shift - kBits);
    return {count, levels_ == 0 ? kEnd : start + (std::uint64_t{1} << shift)};
  }
  return {0, kEnd};
}

void EventWheel::spread(const EventPool& pool, Node bucket) noexcept {
  Node each = links_[bucket].next;
  links_[bucket] = {bucket, bucket};
  mark_empty(bucket);
  while (each != bucket) {
    const Node next = links_[each].next;
    add(each - kBuckets, pool[each - kBuckets].at);
    each = next;
  }
}

void EventWheel::rebase(std::uint64_t base) noexcept {
  const unsigned level = level_of(base ^ base_);
  if (base > base_) {
    const std::uint32_t moved = (2U << level) - 1;
    if ((levels_ & moved) == 0) base_ = base;
    return;
  }
  // What is below the level shares with the old base the digit in which it differs from the new
  // one: all of it is in one bucket now, which was empty.
  const auto digit = static_cast<unsigned>(base_ >> (kBits * level)) % kWidth;
  const Node to = level * kWidth + digit;
  for (std::uint32_t below = levels_ & ((1U << level) - 1); below != 0; below &= below - 1) {
    const auto from = static_cast<unsigned>(std::countr_zero(below));
    for (std::uint64_t bits = bits_[from]; bits != 0; bits &= bits - 1) {
      splice(from * kWidth + static_cast<unsigned>(std::countr_zero(bits)), to);
    }
  }
  base_ = base;
}

void EventWheel::splice(Node from, Node to) noexcept {
  const Link moved = links_[from];
  const Node last = links_[to].previous;
  links_[last].next = moved.next;
  links_[moved.next].previous = last;
  links_[moved.previous].next = to;
  links_[to].previous = moved.previous;
  links_[from] = {from, from};
  mark_empty(from);
  bits_[to / kWidth] |= std::uint64_t{1} << to % kWidth;
  levels_ |= 1U << to / kWidth;
}

}  // namespace damper::timer
