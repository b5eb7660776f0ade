#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/admit/criticality.h"
#include "damper/base/instant.h"
#include "damper/queue/work_queue/node_list.h"
#include "damper/timer/event_queue.h"

namespace damper::queue {

// DelayedKeys are the keys of a work queue that wait for their due time.
//
// Why: an EventQueue orders keys by time; a full queue sheds them by criticality.
// Model: a timer for each key and, with `by_class`, a list of the keys of each criticality
// (optional because a removal from the middle of a list costs two cache misses). A key that is due
// at kNever has no timer: it stays until it is removed.
// Invariants:
//   (1) pop() returns each key once, not before its time, in order of time; keys with equal times
//       in the order of schedule().
//   (2) Only schedule() may throw, without an effect: a caller can schedule before it removes the
//       key from its current list.
// Thread safety: none.
// Cost: that of EventQueue; everything else is O(1).
//
// Table is the KeyTable of the keys; its values have links, priority, due and timer.
template <class Table>
class DelayedKeys {
 public:
  using Index = std::uint32_t;
  using Timer = timer::EventQueue::Timer;
  static constexpr Index kNone = Table::kNone;

  // by_class: newest() may be called.
  explicit DelayedKeys(bool by_class) : by_class_(by_class) {}

  // The timer for a push() that follows.
  [[nodiscard]] Timer schedule(Index key, Instant due) {
    return timers_.schedule(due, {.kind = 0, .subject = key, .detail = 0});
  }

  // Adds a key whose `due` and `timer` are set. REQUIRES: it is in no list.
  void push(Table& table, Index key) noexcept {
    if (by_class_) list(table, key).push_back(table, key);
    ++size_;
  }

  // REQUIRES: the key is here.
  void remove(Table& table, Index key) noexcept {
    (void)timers_.cancel(table.value(key).timer);
    unlink(table, key);
  }

  // Removes and returns a key that is due; kNone when there is none.
  [[nodiscard]] Index pop(Table& table, Instant now) noexcept {
    if (size_ == 0) return kNone;
    const auto due = timers_.pop(now);
    if (!due) return kNone;
    unlink(table, due->event.subject);
    return due->event.subject;
  }

  // Changes the class of the key. REQUIRES: the key is here.
  void set_priority(Table& table, Index key, admit::Criticality priority) noexcept {
    if (by_class_) list(table, key).remove(table, key);
    table.value(key).priority = priority;
    if (by_class_) list(table, key).push_back(table, key);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // The earliest due time; kNever when there is none.
  [[nodiscard]] Instant next_due() noexcept { return timers_.next(); }

  // The key of this class that was added last; kNone when there is none. REQUIRES: by_class.
  [[nodiscard]] Index newest(admit::Criticality priority) const noexcept {
    const NodeList& keys = lists_[static_cast<std::size_t>(priority)];
    return keys.empty() ? kNone : keys.back();
  }

 private:
  [[nodiscard]] NodeList& list(const Table& table, Index key) noexcept {
    return lists_[static_cast<std::size_t>(table.value(key).priority)];
  }
  void unlink(Table& table, Index key) noexcept {
    if (by_class_) list(table, key).remove(table, key);
    --size_;
  }

  const bool by_class_;
  timer::EventQueue timers_;
  std::array<NodeList, admit::kCriticalities> lists_{};
  std::size_t size_ = 0;
};

}  // namespace damper::queue
