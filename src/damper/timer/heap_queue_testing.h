#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/timer/event_queue.h"

namespace damper::timer {

// A QuaternaryHeap has the entry that precedes all others at the top; each has four below it.
// Entry has at and sequence, which order it.
template <class Entry>
class QuaternaryHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] const Entry& top() const noexcept { return entries_.front(); }

  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::size_t hole = entries_.size() - 1;
    while (hole > 0) {
      const std::size_t above = (hole - 1) / 4;
      if (!precedes(entry, entries_[above])) break;
      entries_[hole] = entries_[above];
      hole = above;
    }
    entries_[hole] = entry;
  }

  void pop() noexcept {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sink(0, last);
  }

  // Removes all entries for which it is true.
  template <class Dead>
  void remove_if(Dead dead) {
    std::erase_if(entries_, dead);
    for (std::size_t i = (entries_.size() + 2) / 4; i-- > 0;) sink(i, Entry{entries_[i]});
  }

 private:
  static bool precedes(const Entry& a, const Entry& b) noexcept {
    return a.at < b.at || (a.at == b.at && a.sequence < b.sequence);
  }
  // Puts the entry at the hole or below it.
  void sink(std::size_t hole, const Entry& entry) noexcept {
    for (;;) {
      const std::size_t first = 4 * hole + 1;
      if (first >= entries_.size()) break;
      std::size_t best = first;
      const std::size_t end = std::min(first + 4, entries_.size());
      for (std::size_t i = first + 1; i < end; ++i) {
        if (precedes(entries_[i], entries_[best])) best = i;
      }
      if (!precedes(entries_[best], entry)) break;
      entries_[hole] = entries_[best];
      hole = best;
    }
    entries_[hole] = entry;
  }

  std::vector<Entry> entries_;
};

// A HeapQueue does what an EventQueue does, in the way that one would write first: a heap, from
// which a cancelled event is removed when it comes to the top, or when the dead are the majority.
// The oracle of EventQueue's tests, and what its benchmark is compared with.
class HeapQueue {
 public:
  struct Timer {
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
  };
  using Due = EventQueue::Due;

  // If ties are reversed, events are numbered downwards.
  explicit HeapQueue(Ties ties = Ties::in_order) noexcept
      : reversed_(ties == Ties::reversed), sequence_(reversed_ ? UINT64_MAX : 0) {}

  Timer schedule(Instant at, const TimedEvent& event) {
    if (at == kNever) return {};
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot] = {reversed_ ? --sequence_ : ++sequence_, event};
    heap_.push({std::max(at, now_), sequence_, slot});
    most_ = std::max(most_, ++size_);
    return {sequence_, slot};
  }

  bool cancel(Timer timer) {
    if (!is_pending(timer)) return false;
    release(timer.slot);
    if (heap_.size() > 64 && heap_.size() > 2 * size_) {
      heap_.remove_if([this](const Entry& entry) { return !is_alive(entry); });
    }
    return true;
  }

  [[nodiscard]] bool is_pending(Timer timer) const noexcept {
    return timer.sequence != 0 && slots_[timer.slot].sequence == timer.sequence;
  }

  std::optional<Due> pop(Instant until = kNever) {
    while (!heap_.empty()) {
      const Entry entry = heap_.top();
      const bool alive = is_alive(entry);
      if (alive && entry.at > until) return std::nullopt;
      heap_.pop();
      if (!alive) continue;
      const Due due{entry.at, slots_[entry.slot].event};
      release(entry.slot);
      now_ = entry.at;
      return due;
    }
    return std::nullopt;
  }

  [[nodiscard]] Instant next() {
    while (!heap_.empty() && !is_alive(heap_.top())) heap_.pop();
    return heap_.empty() ? kNever : heap_.top().at;
  }

  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  struct Entry {
    Instant at;
    std::uint64_t sequence;
    std::uint32_t slot;
  };
  struct Slot {
    std::uint64_t sequence = 0;  // of the event in it; 0: none
    TimedEvent event;
  };

  [[nodiscard]] bool is_alive(const Entry& entry) const noexcept {
    return slots_[entry.slot].sequence == entry.sequence;
  }
  void release(std::uint32_t slot) {
    slots_[slot].sequence = 0;
    free_.push_back(slot);
    --size_;
  }

  QuaternaryHeap<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  bool reversed_;
  std::uint64_t sequence_;
  Instant now_{};
  std::size_t size_ = 0;
  std::size_t most_ = 0;
};

}  // namespace damper::timer
