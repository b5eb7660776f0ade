#ifndef DAMPER_LAB_WORLD_REPLICA_H_
#define DAMPER_LAB_WORLD_REPLICA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "damper/admit/concurrency_limit.h"
#include "damper/admit/criticality.h"
#include "damper/admit/shed_queue.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/slab.h"
#include "damper/lab/world/wait_line.h"

namespace damper::lab {

// A Replica is one server of a service: workers, and a bounded queue before them.
//
// Model: a request that finds a free worker is worked on at once, else it queues, else it is
// refused. A worker that is done takes the next one from the queue, in the order that the
// discipline says; with a `handover` it looks there only after that time, and whoever arrives in
// between gets it at once, before those who wait. `shed` is the engine's ShedQueue and `limit` its
// ConcurrencyLimit: the very code that runs in production.
// Invariants:
//   (1) working() <= workers, unless a capacity cut has just taken some away.
//   (2) queued() <= the bound.
//   (3) Every request that came in leaves exactly once: done, abandoned, refused, dropped or
//       withdrawn. With it leaves its place in the limit.
//   (4) The limit learns from requests that were worked on to the end, and from no others.
// Thread safety: none. Cost: O(1) for each step.
class Replica {
 public:
  // The spec outlives it.
  explicit Replica(const ServiceSpec& spec);

  enum class Entry : std::uint8_t { works, waits, refused };
  struct Admission {
    Entry entry = Entry::works;
    Duration retry_after = decide::Report::kUnsaid;  // what one that is refused is told
    WaitLine::Slot slot = 0;                         // of one that waits
  };
  // A request arrives. What had to make room for it is in dropped().
  [[nodiscard]] Admission on_arrival(Handle request, admit::Criticality criticality,
                                     Instant deadline, Instant now, double draw);

  // The request that a free worker takes, if there are both. What was given up on the way is in
  // dropped(). With a shed queue a taken request may have been withdrawn: then
  // on_withdrawn_taken(), and take again.
  [[nodiscard]] std::optional<Handle> take(Instant now);

  // A worker is free again. `arrived` is when its request came.
  void on_done(Instant arrived, Instant now);
  // A worker is free again, and its request was not worked on to the end.
  void on_abandoned() noexcept;
  // A request that waits in `slot` was given up by its caller: it counts no more, though a shed
  // queue may still return its handle.
  void on_withdrawn(WaitLine::Slot slot) noexcept;
  // What take() returned had been withdrawn: its worker is free again.
  void on_withdrawn_taken() noexcept;
  // One of dropped() is gone; `withdrawn`: its caller had given it up before.
  void on_dropped(bool withdrawn) noexcept;

  // Which share of the workers works.
  void set_capacity(double share) noexcept;

  [[nodiscard]] const std::vector<Handle>& dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::size_t queued() const noexcept { return in_line() - withdrawn_; }
  [[nodiscard]] std::size_t working() const noexcept { return working_; }
  [[nodiscard]] std::int32_t limit() const noexcept { return limit_ ? limit_->limit() : 0; }
  // Whether those who are here, working or queued, are all that the limit counts.
  [[nodiscard]] bool is_balanced() const noexcept {
    return !limit_ || static_cast<std::size_t>(limit_->in_flight()) == queued() + working();
  }
  // Whether take() may find anything, be it withdrawn.
  [[nodiscard]] bool has_line() const noexcept { return in_line() > 0; }
  [[nodiscard]] bool has_free_worker() const noexcept { return working_ < workers_; }

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

#endif  // DAMPER_LAB_WORLD_REPLICA_H_
