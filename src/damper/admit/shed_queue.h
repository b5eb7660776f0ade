#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/admit/class_lists.h"
#include "damper/admit/criticality.h"
#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"

namespace damper::admit {

struct ShedQueueOptions {
  static constexpr Range<std::int32_t> kCapacity{1, 1'000'000};
  static constexpr Range<Duration> kInterval{std::chrono::milliseconds(1), std::chrono::hours(1)};
  static constexpr Range<Duration> kNeeded{Duration{1}, kLongest};

  std::int32_t capacity = 1000;
  Duration interval = std::chrono::milliseconds(100);  // a queue not empty for longer: pressure
  Duration target = std::chrono::milliseconds(5);      // wait under pressure; (0, interval]
  Duration needed = std::chrono::milliseconds(1);      // with less time left, a request is expired
  Duration longest_retry_after = std::chrono::seconds(30);  // [interval, 24 h]

  friend bool operator==(const ShedQueueOptions&, const ShedQueueOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const ShedQueueOptions& options);

// Why something left the queue otherwise than by pop, or did not get in.
enum class ShedReason : std::uint8_t { full, evicted, overdue, expired, drained };
inline constexpr EnumNames<ShedReason::drained> kShedReasonNames = {"full", "evicted", "overdue",
                                                                    "expired", "drained"};
[[nodiscard]] constexpr std::string_view name(ShedReason reason) noexcept {
  return kShedReasonNames[reason];
}
[[nodiscard]] constexpr Verdict verdict_of(ShedReason reason) noexcept {
  return reason == ShedReason::expired ? Verdict::deadline_too_close : Verdict::shed;
}

// The Retry-After of a refused request: the time to serve `depth` requests at `service` each, at
// least the interval; then jittered up to twice that, so that refused clients do not return
// together.
[[nodiscard]] Duration retry_after(const ShedQueueOptions& options, std::size_t depth,
                                   Duration service, double draw) noexcept;

// A ShedQueue holds requests before they are served, and sheds the least useful ones under
// overload.
//
// Why: a full FIFO serves only requests whose callers have given up. Under overload the newest
// request is the one most likely to be of use.
// Model: the more critical class is served first. Starving the lower ones is intended: under
// overload they are shed, and while healthy the queue is nearly empty. The queue is under pressure
// once it has not been empty for `interval` (Maurer, "Fail at Scale", ACM Queue 2015). While
// healthy a class is FIFO; under pressure it is LIFO, and a pop also sheds
//   - each request that has waited for longer than `interval`, and
//   - each request that has waited for longer than `target`, the lowest class first: a class is
//   only
//     touched when no lower class has a waiting request.
// The request that a pop returns is chosen before, so a worker always gets one if one can still be
// served. At the capacity an arrival replaces an expired request at the front of a class, else the
// oldest of the lowest class below its own (the last to be served under pressure), else it is
// refused. A request with less than `needed` time left is expired.
// If time runs backwards, the latest time is used.
// Invariants:
//   (1) depth() <= capacity; after a reload to less, it does not grow before that is so.
//   (2) Every accepted item leaves exactly once: popped, evicted, withdrawn or handed to a sink.
//   (3) An expired item is never popped.
//   (4) An item is never popped while a more critical one that is not expired waits.
//   (5) After a pop under pressure no item has waited for longer than `interval`.
//   (6) A refused push changes nothing but a counter; the item stays with the caller.
//   (7) Nothing is evicted for an arrival of its own class or a lower one, unless it is expired.
// Thread safety: none; the driver that serves the queue owns it.
// Cost: one allocation, at construction and for a larger capacity, unless less is reserved. push is
// O(1); pop is O(1) for each item that it removes.
template <class T>
class ShedQueue {
 public:
  using Handle = typename ClassLists<T>::Handle;
  struct Dropped {
    T item;
    ShedReason reason;
    Criticality criticality;
    Duration waited;
    [[nodiscard]] Verdict verdict() const noexcept { return verdict_of(reason); }
  };
  struct Pushed {
    Verdict verdict = Verdict::none;  // none: accepted; shed or deadline_too_close: refused
    Duration retry_after{0};          // of one that was shed
    std::optional<Dropped> evicted;   // what had to make room
    Handle handle = 0;                // of one that was accepted: for withdraw
    [[nodiscard]] bool accepted() const noexcept { return verdict == Verdict::none; }
  };

  // REQUIRES: !find_error(options).
  explicit ShedQueue(const ShedQueueOptions& options)
      : ShedQueue(options, static_cast<std::size_t>(options.capacity), false) {}
  // Room for `reserved` items is allocated at first; push() allocates if more items wait than ever
  // before. REQUIRES: 0 < reserved <= capacity.
  ShedQueue(const ShedQueueOptions& options, std::size_t reserved, bool lazy = true)
      : options_(options), lists_((check(options), reserved)), lazy_(lazy) {
    DAMPER_CHECK(reserved > 0 && reserved <= capacity());
  }

  // Waiting items keep their order. REQUIRES: !find_error(options).
  void reload(const ShedQueueOptions& options) {
    check(options);
    options_ = options;
    if (!lazy_) lists_.grow(capacity());
  }

  // Moves from `item` if it is accepted, and leaves it untouched if it is refused. `full`: a
  // capacity that several queues share is reached.
  [[nodiscard]] Pushed push(T&& item, Criticality c, Instant deadline, Instant now, double draw,
                            bool full = false) {
    now = advance(now);
    if (expired(deadline, now)) return refuse(c, ShedReason::expired, Duration{0});
    if (depth() == 0) {
      empty_until_ = now;
      busy_since_pop_ = false;
    }
    Pushed pushed;
    if (full || depth() >= capacity()) {
      pushed.evicted = make_room(c, now);
      if (!pushed.evicted) return refuse(c, ShedReason::full, retry_after(draw));
    }
    if (lists_.full()) lists_.grow(std::min(2 * depth(), capacity()));
    pushed.handle = lists_.push(c, {std::move(item), now, deadline});
    return pushed;
  }

  // Removes a waiting item: its caller is gone, or waits no longer. Not counted as dropped.
  // REQUIRES: it was accepted into that class with that handle, and has not left.
  [[nodiscard]] T withdraw(Criticality c, Handle handle) noexcept {
    return std::move(lists_.take_at(c, handle).item);
  }

  // Of several queues that share a capacity, one at least has not been empty since `since`.
  void on_busy_since(Instant since) noexcept { empty_until_ = std::min(empty_until_, since); }

  // The request to work on now, if any. Calls sink(Dropped&&) for each one given up on the way; the
  // sink must not throw nor use the queue.
  template <class Sink>
  [[nodiscard]] std::optional<T> pop(Instant now, Sink&& sink) {
    now = advance(now);
    const bool pressure = under_pressure(now);
    std::optional<T> served;
    for (std::size_t i = 0; i < kCriticalities && !served; ++i) {
      const auto c = static_cast<Criticality>(i);
      while (lists_.size(c) > 0 && !served) {
        Waiting next = pressure ? lists_.take_newest(c) : lists_.take_oldest(c);
        if (expired(next.deadline, now)) {
          sink(drop(std::move(next), c, ShedReason::expired, now));
        } else {
          served.emplace(std::move(next.item));
        }
      }
    }
    if (pressure) shed_overdue(now, sink);
    if (served) measure(now);
    return served;
  }

  // Empties the queue into the sink: a shutdown loses nothing silently.
  template <class Sink>
  void drain(Instant now, Sink&& sink) {
    now = advance(now);
    for (std::size_t i = 0; i < kCriticalities; ++i) {
      const auto c = static_cast<Criticality>(i);
      while (lists_.size(c) > 0) sink(drop(lists_.take_oldest(c), c, ShedReason::drained, now));
    }
  }

  [[nodiscard]] std::size_t depth() const noexcept { return lists_.size(); }
  [[nodiscard]] std::size_t depth(Criticality c) const noexcept { return lists_.size(c); }
  [[nodiscard]] std::uint64_t dropped(Criticality c, ShedReason reason) const noexcept {
    return dropped_[static_cast<std::size_t>(c)][static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] Duration oldest_age(Instant now) const noexcept {
    Instant oldest = now;
    for (std::size_t i = 0; i < kCriticalities; ++i) {
      const auto c = static_cast<Criticality>(i);
      if (depth(c) > 0) oldest = std::min(oldest, lists_.oldest(c).arrived);
    }
    return between(oldest, now);
  }
  [[nodiscard]] bool under_pressure(Instant now) const noexcept {
    return depth() > 0 && between(empty_until_, now) > options_.interval;
  }
  // When one that is refused or dropped now should come back.
  [[nodiscard]] Duration retry_after(double draw) const noexcept {
    return admit::retry_after(options_, depth(), service_, draw);
  }

 private:
  using Waiting = typename ClassLists<T>::Waiting;

  [[nodiscard]] std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(options_.capacity);
  }
  static void check(const ShedQueueOptions& options) { DAMPER_CHECK_VALID(find_error(options)); }
  Instant advance(Instant now) noexcept { return latest_ = std::max(latest_, now); }
  bool expired(Instant deadline, Instant now) const noexcept {
    return between(now, deadline) < options_.needed;
  }
  std::uint64_t& count(Criticality c, ShedReason reason) noexcept {
    return dropped_[static_cast<std::size_t>(c)][static_cast<std::size_t>(reason)];
  }
  Pushed refuse(Criticality c, ShedReason reason, Duration retry_after) noexcept {
    ++count(c, reason);
    return {verdict_of(reason), retry_after, std::nullopt};
  }
  Dropped drop(Waiting&& waiting, Criticality c, ShedReason reason, Instant now) noexcept {
    ++count(c, reason);
    return {std::move(waiting.item), reason, c, between(waiting.arrived, now)};
  }

  std::optional<Dropped> make_room(Criticality arriving, Instant now) noexcept {
    for (std::size_t i = kCriticalities; i-- > 0;) {
      const auto c = static_cast<Criticality>(i);
      if (depth(c) > 0 && expired(lists_.oldest(c).deadline, now)) {
        return drop(lists_.take_oldest(c), c, ShedReason::expired, now);
      }
    }
    for (std::size_t i = kCriticalities; i-- > static_cast<std::size_t>(arriving) + 1;) {
      const auto c = static_cast<Criticality>(i);
      if (depth(c) > 0) return drop(lists_.take_oldest(c), c, ShedReason::evicted, now);
    }
    return std::nullopt;
  }

  template <class Sink>
  void shed_overdue(Instant now, Sink& sink) {
    bool lower_waits = false;
    for (std::size_t i = kCriticalities; i-- > 0;) {
      const auto c = static_cast<Criticality>(i);
      const Duration longest = lower_waits ? options_.interval : options_.target;
      while (depth(c) > 0 && between(lists_.oldest(c).arrived, now) > longest) {
        Waiting overdue = lists_.take_oldest(c);
        const bool late = expired(overdue.deadline, now);
        sink(drop(std::move(overdue), c, late ? ShedReason::expired : ShedReason::overdue, now));
      }
      lower_waits = lower_waits || depth(c) > 0;
    }
  }

  // The time between two pops of a busy queue, averaged over about eight of them.
  void measure(Instant now) noexcept {
    if (busy_since_pop_) service_ += (between(popped_, now) - service_) / 8;
    popped_ = now;
    busy_since_pop_ = true;  // Until push() finds it empty.
  }

  ShedQueueOptions options_;
  ClassLists<T> lists_;
  bool lazy_;  // grows as it is used
  Instant latest_ = Instant::min();
  Instant empty_until_ = Instant::min();
  Instant popped_ = Instant::min();
  bool busy_since_pop_ = false;
  Duration service_{0};
  std::array<std::array<std::uint64_t, kShedReasonNames.size()>, kCriticalities> dropped_{};
};

}  // namespace damper::admit
