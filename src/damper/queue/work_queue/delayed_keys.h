#ifndef DAMPER_QUEUE_WORK_QUEUE_DELAYED_KEYS_H_
#define DAMPER_QUEUE_WORK_QUEUE_DELAYED_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "damper/admit/criticality.h"
#include "damper/base/instant.h"
#include "damper/queue/work_queue/node_list.h"
#include "damper/timer/event_queue.h"

namespace damper::queue {

// DelayedKeys are the keys that wait for their time: whose has come.
//
// Why: an EventQueue knows the times; but who makes room in a full queue is asked by class.
// Model: a timer for each key, and for who asks by class a list of the keys of each criticality:
// to leave the middle of a list costs two cache misses. A key that is due at kNever has no timer:
// it waits until somebody takes it out. Invariants:
//   (1) pop gives each key once, none before its time, in order of time; of one time in the order
//       of schedule().
//   (2) Only schedule() may throw, and it has changed nothing then: so a caller can take a timer
//       before it takes a key from where it is.
// Thread safety: none.
// Cost: EventQueue's; everything else is O(1).
//
// Table is the KeyTable of the keys; its values have links, priority, due and timer.
template <class Table>
class DelayedKeys {
 public:
  using Index = std::uint32_t;
  using Timer = timer::EventQueue::Timer;
  static constexpr Index kNone = Table::kNone;

  // by_class: newest() will be asked.
  explicit DelayedKeys(bool by_class) : by_class_(by_class) {}

  // For a push that follows at once.
  [[nodiscard]] Timer schedule(Index key, Instant due) {
    return timers_.schedule(due, {.kind = 0, .subject = key, .detail = 0});
  }

  // The key waits until its `due`; its `timer` says so. REQUIRES: it is in no list.
  void push(Table& table, Index key) noexcept {
    if (by_class_) list(table, key).push_back(table, key);
    ++size_;
  }

  // The key waits no more. REQUIRES: it does.
  void remove(Table& table, Index key) noexcept {
    (void)timers_.cancel(table.value(key).timer);
    unlink(table, key);
  }

  // A key whose time has come, which waits no more; kNone when there is none.
  [[nodiscard]] Index pop(Table& table, Instant now) noexcept {
    if (size_ == 0) return kNone;
    const auto due = timers_.pop(now);
    if (!due) return kNone;
    unlink(table, due->event.subject);
    return due->event.subject;
  }

  // The key has another class from now on. REQUIRES: it waits.
  void set_priority(Table& table, Index key, admit::Criticality priority) noexcept {
    if (by_class_) list(table, key).remove(table, key);
    table.value(key).priority = priority;
    if (by_class_) list(table, key).push_back(table, key);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // When the next one is due; kNever when none is.
  [[nodiscard]] Instant next_due() noexcept { return timers_.next(); }

  // Of the keys of this class, the one that came last; kNone when there is none. REQUIRES:
  // by_class.
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

#endif  // DAMPER_QUEUE_WORK_QUEUE_DELAYED_KEYS_H_
