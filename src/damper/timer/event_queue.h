#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/timer/event_pool.h"
#include "damper/timer/event_wheel.h"

namespace damper::timer {

// The order of events of one instant: as they were scheduled, or reversed, to find results that
// depend on it.
enum class Ties : std::uint8_t { in_order, reversed };

// An EventQueue holds what will happen and says what happens next: the lab's virtual time, and the
// delayed keys of a work queue.
//
// Why: in a storm most events are timers that get cancelled, with millions pending. A heap pays
// for the order of events that never happen; here an event is put in order shortly before it does.
// Model: two parts. `near_` has the next events, up to 128, sorted; `wheel_` has the rest, from
// the horizon on, in buckets. When near_ is empty it takes the wheel's first bucket; when it is
// full, its later half goes to the wheel and the horizon comes closer. With few events pending,
// all are in near_. A cancelled event leaves the wheel at once, and near_ when its turn comes.
// Invariants:
//   (1) Events happen in order of their instants, to the nanosecond; those of one instant in the
//       order in which they were scheduled. So what is scheduled for now() happens after all that
//       was. With Ties::reversed it is the last one scheduled that happens first.
//   (2) now() never goes back. An event scheduled for an earlier instant happens at now().
//   (3) An event that was scheduled either happens once or is cancelled once. A Timer that has
//       done either is stale: it is not pending, and to cancel it changes nothing.
//   (4) What is scheduled for kNever does not happen, and is not kept: its Timer names nothing.
//   (5) pop(until) returns nothing that is later than `until`, and changes nothing visible then.
//   (6) The same calls give the same results on every machine: no address, hash or clock decides.
//   (7) All in near_ precede all in the wheel: near_ is at or before the horizon and, if at it, was
//       scheduled earlier (later, if ties are reversed); the wheel is at or after it.
// Thread safety: none.
// Cost: 40 bytes for each event pending at once (up to 80 after an array has doubled), 12 KB
// besides; at most 67 million events (EventPool's bound). No allocation but when more events are
// pending than ever before. schedule: O(1), and up to 128 moves of 16 bytes for the near future.
// cancel: O(1). pop: amortized O(1), see EventWheel.
class EventQueue {
 public:
  // A Timer names an event until it happens or is cancelled; one made from nothing names nothing.
  // It is of use only to the queue that it came from.
  class Timer {
   public:
    Timer() = default;
    bool operator==(const Timer&) const = default;

   private:
    friend class EventQueue;
    explicit Timer(EventPool::Id id) noexcept : id_(id) {}
    EventPool::Id id_ = 0;
  };

  struct Due {
    Instant at;
    TimedEvent event;

    bool operator==(const Due&) const = default;
  };

  explicit EventQueue(Ties ties = Ties::in_order) noexcept : early_first_(ties == Ties::in_order) {}

  // The event happens at `at`, or at now() if that is later.
  Timer schedule(Instant at, const TimedEvent& event) {
    if (at == kNever) return Timer{};
    if (pool_.full()) grow();
    const std::uint64_t ns = nanoseconds(std::max(at, now_));
    const EventPool::Id id = pool_.add(ns, event);
    most_ = std::max(most_, ++size_);
    if (ns < near_end_ && near_size_ == kNear) make_room();  // This may move the horizon.
    if (ns < near_end_) {
      insert({ns, id});
    } else if (early_first_ == 1) {
      wheel_.add(EventPool::index(id), ns);
    } else {
      wheel_.put_back(EventPool::index(id), ns);
    }
    return Timer(id);
  }

  // Whether it was still pending.
  bool cancel(Timer timer) noexcept {
    if (!is_pending(timer)) return false;
    const EventPool::Index slot = EventPool::index(timer.id_);
    if (wheel_.holds(slot)) wheel_.remove(slot);
    pool_.remove(slot);  // A key in near_ finds out when its turn comes.
    --size_;
    return true;
  }

  [[nodiscard]] bool is_pending(Timer timer) const noexcept { return pool_.holds(timer.id_); }

  // The next event, if it is due by `until`; now() is its instant then.
  std::optional<Due> pop(Instant until = kNever) noexcept {
    for (;;) {
      if (near_size_ == 0 && !refill(until)) return std::nullopt;
      const EventWheel::Key key = near_[near_size_ - 1];
      const EventPool::Index slot = EventPool::index(key.id);
      if (pool_[slot].id != key.id) {  // It was cancelled.
        --near_size_;
        continue;
      }
      const Instant at{Duration{static_cast<std::int64_t>(key.at)}};
      if (at > until) return std::nullopt;
      --near_size_;
      --size_;
      now_ = at;
      const Due due{at, pool_[slot].event};
      pool_.remove(slot);
      return due;
    }
  }

  // When the next event is due; kNever when none is.
  [[nodiscard]] Instant next() noexcept {
    for (;;) {
      if (near_size_ == 0 && !refill(kNever)) return kNever;
      const EventWheel::Key key = near_[near_size_ - 1];
      if (pool_.holds(key.id)) return Instant{Duration{static_cast<std::int64_t>(key.at)}};
      --near_size_;  // It was cancelled.
    }
  }

  // The instant of the last event that happened; 0 before the first.
  [[nodiscard]] Instant now() const noexcept { return now_; }
  // How many events are pending, and the most that ever were.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }

 private:
  static constexpr std::size_t kNear = 2 * EventWheel::kTake;

  static std::uint64_t nanoseconds(Instant at) noexcept {
    return static_cast<std::uint64_t>(at.time_since_epoch().count());
  }

  // Into near_, after all that are due by then; before those of its instant, if ties are reversed.
  // REQUIRES: near_size_ < kNear.
  void insert(EventWheel::Key key) noexcept {
    const std::uint64_t before = key.at + early_first_;
    std::size_t to = near_size_++;
    for (; to > 0 && near_[to - 1].at < before; --to) near_[to] = near_[to - 1];
    near_[to] = key;
  }
  void grow();
  bool refill(Instant until) noexcept;
  // An event at the horizon comes after all in near_, or before them if ties are reversed.
  void set_horizon(std::uint64_t at) noexcept { near_end_ = at + 1 - early_first_; }
  void make_room() noexcept;

  std::uint64_t early_first_;  // 1, or 0 if ties are reversed
  EventPool pool_;
  EventWheel wheel_;
  std::size_t near_size_ = 0;
  std::uint64_t near_end_ = EventWheel::kEnd;  // an event before it is inserted in near_
  Instant now_{};
  std::size_t size_ = 0;
  std::size_t most_ = 0;
  std::array<EventWheel::Key, kNear> near_;  // the earliest last; some were cancelled
};

}  // namespace damper::timer
