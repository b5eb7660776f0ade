#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/call.h"
#include "damper/engine/dependency.h"
#include "damper/lab/world/random_streams.h"
#include "damper/lab/world/slab.h"
#include "damper/timer/event_queue.h"

namespace damper::lab {

// SimulatedCalls drives engine::Calls in virtual time: the lab's counterpart of run/blocking.h.
//
// Why: the simulated policy has to be the one that runs in production, so the lab has no retry
// logic of its own. It passes events to engine::Call and applies the steps that it returns.
// Model: each step is applied in its documented order: cancel, finish, set the timer, send. A timer
// is an event of the kind `wake`; the owner of the queue passes it to on_wake(). `Data` is what the
// user of this class keeps with each call.
// Invariants:
//   (1) A call receives an answer only if it has not given that attempt up, and once.
//   (2) The draws of a call depend on its number and on how many it has used, and on nothing else:
//       two policies that draw alike see the same values.
// Thread safety: none. Cost: one cell of a slab for each call, about 0.5 KiB.
template <class Data>
class SimulatedCalls {
 public:
  struct Operation {
    Operation(engine::Dependency& dependency, const engine::CallOptions& options,
              std::uint64_t the_number, Instant now, const Data& its_data)
        : call(dependency, options), number(the_number), started(now), data(its_data) {}

    engine::Call call;
    timer::EventQueue::Timer timer{};
    std::array<Handle, engine::kLanes> lanes{};  // what on_send() returned for each attempt
    std::uint64_t number;                        // identifies it: the same under every policy
    Instant started;
    Instant timer_at = kNever;
    std::uint32_t draws = 0;  // used so far
    Data data;
  };

  // A Transport carries attempts. It answers through on_answer(), later or never, but not from
  // within on_send().
  class Transport {
   public:
    // Sends the attempt. The returned handle identifies it until it is answered or given up.
    virtual Handle on_send(Handle handle, Operation& operation, const engine::Attempt& attempt) = 0;
    // The answer to the attempt is not wanted any more.
    virtual void on_give_up(Handle sent) = 0;
    // An attempt of the call has timed out. True: its caller gives the call up.
    virtual bool on_timed_out(Operation& /*operation*/) { return false; }
    // The call is over, and destroyed when this returns. It may start others.
    virtual void on_over(const Operation& operation, Verdict verdict) = 0;

   protected:
    ~Transport() = default;
  };

  // All arguments outlive it. `wake` is the kind of the events that it schedules.
  SimulatedCalls(timer::EventQueue& queue, const RandomStreams& streams, Transport& transport,
                 std::uint32_t wake) noexcept
      : queue_(queue), streams_(streams), transport_(transport), wake_(wake) {}

  // Creates a call; start() starts it. It may be over when start() returns.
  Handle prepare(engine::Dependency& dependency, const engine::CallOptions& options,
                 std::uint64_t number, const Data& data) {
    return operations_.insert(dependency, options, number, queue_.now(), data);
  }
  void start(Handle handle) {
    Operation& operation = at(handle);
    operation.call.start(queue_.now(), draw(operation));
    apply(handle, operation);
  }
  // Null when it is over.
  [[nodiscard]] Operation* find(Handle handle) noexcept { return operations_.find(handle); }

  // Whether the answer to the attempt is still wanted.
  [[nodiscard]] bool is_wanted(Handle handle, Handle sent) noexcept {
    const Operation* const operation = find(handle);
    return operation != nullptr && lane_of(*operation, sent) < operation->lanes.size();
  }
  // Passes the answer to an attempt to its call. False if it is not wanted any more.
  bool on_answer(Handle handle, Handle sent, const decide::Report& report) {
    Operation* const operation = find(handle);
    if (operation == nullptr) return false;
    const std::size_t lane = lane_of(*operation, sent);
    if (lane == operation->lanes.size()) return false;
    operation->lanes[lane] = {};
    const auto number = static_cast<int>(lane);
    if (report.outcome == decide::Outcome::success) {
      operation->call.on_success(number, queue_.now());
    } else {
      operation->call.on_outcome(number, report, queue_.now(), draw(*operation));
    }
    apply(handle, *operation);
    return true;
  }
  void on_wake(const timer::TimedEvent& event) {
    const Handle handle = Handle::of(event.detail);
    Operation& operation = at(handle);
    operation.timer_at = kNever;
    operation.call.on_timer(queue_.now(), draw(operation));
    const auto timed_out = operation.call.step().cancels;
    if (timed_out != 0 && transport_.on_timed_out(operation) && !operation.call.step().over()) {
      give_up_lanes(operation, timed_out);
      operation.call.on_cancel(queue_.now());
    }
    apply(handle, operation);
  }
  // REQUIRES: it has been started, and is not over.
  void cancel(Handle handle) {
    Operation& operation = at(handle);
    operation.call.on_cancel(queue_.now());
    apply(handle, operation);
  }

  template <class Visit>
  void for_each(Visit visit) {
    operations_.for_each(visit);
  }
  [[nodiscard]] std::size_t size() const noexcept { return operations_.size(); }

 private:
  // The lane in which the attempt is in flight; lanes.size() if there is none.
  [[nodiscard]] static std::size_t lane_of(const Operation& operation, Handle sent) noexcept {
    const auto& lanes = operation.lanes;
    if (sent == Handle{}) return lanes.size();  // The value of free lanes.
    return static_cast<std::size_t>(std::find(lanes.begin(), lanes.end(), sent) - lanes.begin());
  }
  [[nodiscard]] Operation& at(Handle handle) noexcept {
    Operation* const operation = find(handle);
    DAMPER_CHECK(operation != nullptr);
    return *operation;
  }
  [[nodiscard]] double draw(Operation& operation) const noexcept {
    return streams_.draw(Purpose::jitter, operation.number, operation.draws++);
  }
  template <class Lanes>
  void give_up_lanes(Operation& operation, Lanes cancels) {
    for (std::size_t lane = 0; lane < operation.lanes.size(); ++lane) {
      if ((cancels >> lane & 1) == 0) continue;
      const Handle sent = operation.lanes[lane];
      operation.lanes[lane] = {};
      transport_.on_give_up(sent);
    }
  }
  void apply(Handle handle, Operation& operation) {
    const engine::Step step = operation.call.step();
    give_up_lanes(operation, step.cancels);
    if (step.over()) {
      queue_.cancel(operation.timer);
      transport_.on_over(operation, step.verdict);
      operations_.erase(handle);
      return;
    }
    set_timer(handle, operation, step.wake);
    if (step.sends) {
      operation.lanes[step.attempt.lane] = transport_.on_send(handle, operation, step.attempt);
    }
  }
  void set_timer(Handle handle, Operation& operation, Instant at) {
    if (at == operation.timer_at) return;
    queue_.cancel(operation.timer);
    operation.timer_at = at;
    operation.timer = {};
    if (at == kNever) return;
    operation.timer = queue_.schedule(at, {wake_, handle.index, handle.word()});
  }

  timer::EventQueue& queue_;
  const RandomStreams& streams_;
  Transport& transport_;
  const std::uint32_t wake_;
  Slab<Operation> operations_;
};

}  // namespace damper::lab
