#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/admit/shed_queue.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/lab/scenario/scenario.h"
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

// A Replica is one server of a service: workers, and a bounded queue before them.
//
// Model: a request takes a free worker at once, else it queues, else it is refused. A worker that
// is done takes the next request, in the order of the discipline. With a `handover` it does so only
// after that time, and a request that arrives in between takes it, before the queue. `shed` is the
// engine's ShedQueue and `limit` its ConcurrencyLimit: the code that runs in production.
// Invariants:
//   (1) working() <= workers, unless a capacity cut has just taken some away.
//   (2) queued() <= the bound.
//   (3) Every request leaves exactly once: done, abandoned, refused, dropped or withdrawn. Its slot
//       in the limit is released then.
//   (4) The limit learns from requests that were worked on to the end, and from no others.
// Thread safety: none. Cost: O(1) for each step.
class Replica {
 public:
  // The spec outlives it.
  explicit Replica(const ServiceSpec& spec);

  enum class Entry : std::uint8_t { works, waits, refused };
  struct Admission {
    Entry entry = Entry::works;
    Duration retry_after = decide::Report::kUnsaid;  // of a refused request
    WaitLine::Slot slot = 0;                         // of a request that waits
  };
  // A request arrives. Requests evicted for it are in dropped().
  [[nodiscard]] Admission on_arrival(Handle request, admit::Criticality criticality,
                                     Instant deadline, Instant now, double draw);

  // The request that a free worker takes, if there are both. Requests shed on the way are in
  // dropped(). With a shed queue the taken request may be a withdrawn one: call
  // on_withdrawn_taken(), and take() again.
  [[nodiscard]] std::optional<Handle> take(Instant now);

  // A worker is free again. `arrived` is the arrival of its request.
  void on_done(Instant arrived, Instant now);
  // A worker is free again, and its request was not worked on to the end.
  void on_abandoned() noexcept;
  // A request that waits in `slot` was given up by its caller. It does not count any more,
  // but a shed queue may still return its handle.
  void on_withdrawn(WaitLine::Slot slot) noexcept;
  // take() returned a withdrawn request: its worker is free again.
  void on_withdrawn_taken() noexcept;
  // Releases one of dropped(); `withdrawn`: its caller had given it up before.
  void on_dropped(bool withdrawn) noexcept;

  // Sets the share of the workers that work.
  void set_capacity(double share) noexcept;

  [[nodiscard]] const std::vector<Handle>& dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::size_t queued() const noexcept { return in_line() - withdrawn_; }
  [[nodiscard]] std::size_t working() const noexcept { return working_; }
  [[nodiscard]] std::int32_t limit() const noexcept { return limit_ ? limit_->limit() : 0; }
  // Whether the limit counts exactly the working and queued requests.
  [[nodiscard]] bool is_balanced() const noexcept {
    return !limit_ || static_cast<std::size_t>(limit_->in_flight()) == queued() + working();
  }
  // Whether take() may return a request, if only a withdrawn one.
  [[nodiscard]] bool has_line() const noexcept { return in_line() > 0; }
  [[nodiscard]] bool has_free_worker() const noexcept { return working_ < workers_; }
  [[nodiscard]] std::size_t free_workers() const noexcept {
    return has_free_worker() ? workers_ - working_ : 0;
  }

 private:
  [[nodiscard]] std::size_t in_line() const noexcept {
    return shed_ ? shed_->depth() : line_.size();
  }
  [[nodiscard]] Admission refuse(Duration retry_after = decide::Report::kUnsaid);

  const ServiceSpec& spec_;
  std::size_t workers_;
  std::size_t working_ = 0;
  std::size_t withdrawn_ = 0;  // of those in the shed queue
  WaitLine line_;
  std::optional<admit::ShedQueue<Handle>> shed_;
  std::optional<admit::ConcurrencyLimit> limit_;
  std::vector<Handle> dropped_;
};

}  // namespace damper::lab
