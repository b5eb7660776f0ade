#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/decide/outcome.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/network.h"
#include "damper/lab/world/random_streams.h"
#include "damper/lab/world/simulation.h"
#include "damper/queue/controller/controller_core.h"

namespace damper::lab {

// A ControllerGroup is the controllers of one group: the events of their objects, and a queue each.
//
// Why: the simulated queue has to be the one that runs in production, so each controller is a
// queue::ControllerCore, driven in virtual time as queue/controller drives it in threads.
// ControllerGroups (controller_groups.h) turns each run of a key into a call.
// Model: an event is for an object. It adds the object's key or, without coalescing, a key of its
// own. A run is for the earliest event of its object that no successful run has seen; an object
// settles when such a run succeeds.
// Invariants:
//   (1) Events depend on the seed, the controller and their number alone.
//   (2) A controller has at most `workers` runs in flight.
//   (3) The counts here agree with those of the queues: is_balanced().
// Thread safety: none. Cost: about 30 KiB for each controller, 20 bytes for each object, and the
// queue's cost of each waiting key.
class ControllerGroup {
 public:
  // A run of a key, from next() to finish().
  struct Run {
    queue::Ticket ticket;
    std::uint32_t controller = 0;
    std::uint32_t object = 0;
    std::uint32_t attempt = 1;  // from 1; more if the last run of its key failed
    std::uint64_t number = 0;   // identifies it: the same under every policy
    Duration waited{0};         // for a worker
    Instant since = kNever;     // the time of its event; kNever: none
    Instant deadline = kNever;
    bool is_broken = false;  // it fails always
    [[nodiscard]] bool is_retry() const noexcept { return attempt > 1; }
  };

  // The spec and the streams outlive it. `group` is its position among the scenario's controllers.
  ControllerGroup(const ControllersSpec& spec, std::size_t group, const RandomStreams& streams);

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(controllers_.size());
  }

  // The time of the controller's next event after `now`, its object, and the time of the first
  // resync. kNever: there is none.
  [[nodiscard]] Instant next_event(std::uint32_t controller, Instant now);
  [[nodiscard]] std::uint32_t next_object(std::uint32_t controller);
  [[nodiscard]] Instant first_resync(std::uint32_t controller) const;

  // The object of that index has changed.
  void on_event(std::uint32_t controller, std::uint32_t index, Instant now);

  struct Next {
    std::optional<Run> run;
    Instant wake = kNever;  // without a run: when to call next() again
  };
  // The next run, if there is one now. Call until there is none, after each event and finish().
  [[nodiscard]] Next next(std::uint32_t controller, Instant now);

  // Ends the run. Returns how long the object took to settle, if it did.
  std::optional<Duration> finish(const Run& run, const decide::Report& report, Instant now);

  // Of all controllers: keys that wait for a worker or for their time; those of them whose last run
  // failed, without the broken ones; runs in flight; keys that were given up.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] std::size_t failing() const noexcept { return failing_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t parked() const noexcept { return parked_; }
  // The retry budget of a controller: the mean of up to a hundred, evenly chosen.
  [[nodiscard]] double budget(Instant now);

  [[nodiscard]] bool is_balanced(Instant now);

 private:
  using Core = queue::ControllerCore<std::uint64_t>;
  struct Controller {
    Controller(const queue::ControllerCoreOptions& options, Random random)
        : core(options), events(random) {}
    Core core;
    Random events;
    std::uint64_t draws = 0;  // used by its queue
    std::uint64_t events_so_far = 0;
    std::int32_t running = 0;
  };
  struct Object {
    Instant since = kNever;  // the earliest event without a run
    std::uint32_t runs = 0;
    bool is_parked = false;
    bool is_failing = false;  // it waits, and its last run failed
  };

  [[nodiscard]] std::uint64_t entity(std::uint32_t controller) const noexcept {
    return std::uint64_t{group_} << 32 | controller;
  }
  [[nodiscard]] Object& object(std::uint32_t controller, std::uint32_t index) noexcept {
    return objects_[static_cast<std::size_t>(controller) * static_cast<std::size_t>(spec_.keys) +
                    index];
  }
  [[nodiscard]] double draw(std::uint32_t controller) noexcept {
    return streams_.draw(Purpose::requeue, entity(controller), controllers_[controller].draws++);
  }

  const ControllersSpec& spec_;
  const std::size_t group_;
  const RandomStreams& streams_;
  std::deque<Controller> controllers_;  // They do not move.
  std::vector<Object> objects_;
  std::size_t waiting_ = 0;
  std::size_t failing_ = 0;
  std::size_t running_ = 0;
  std::size_t parked_ = 0;
};

// The ControllerGroups drive the scenario's controllers: each run of a key is a call of one
// attempt, because the controller's queue is what retries.
// Thread safety: none.
class ControllerGroups {
 public:
  // Schedules the first events and resyncs. The simulation outlives it.
  explicit ControllerGroups(Simulation& simulation);

  void on_event(std::uint32_t group, std::uint32_t controller);
  void on_resync(std::uint32_t group, std::uint32_t controller);
  void on_queue(std::uint32_t group, std::uint32_t controller);
  // Completes the message of a run.
  void on_send(const CallData& call, Message& message);
  void on_over(const Calls::Operation& call, Verdict verdict);

  // Keys that wait, in all groups.
  [[nodiscard]] std::size_t waiting() const;
  void read(std::size_t group, Instant now, ControllersTick& tick);
  // Aborts unless there are that number of runs in flight, by group, and the queues agree.
  void check(const std::vector<std::size_t>& runs);

 private:
  struct Timer {
    timer::EventQueue::Timer timer{};
    Instant at = kNever;
  };
  struct Group {
    Group(Simulation& simulation, const ControllersSpec& its_spec, std::uint32_t index);

    const ControllersSpec& spec;
    const std::uint32_t service;
    ControllerGroup controllers;
    engine::Dependency dependency;  // Calls of one attempt share no state that matters.
    std::vector<Timer> timers;      // of each controller's queue
  };
  // Starts the keys for which the controller has workers, and sets the timer of its queue.
  void run_ready(std::uint32_t group, std::uint32_t controller);
  void begin_run(std::uint32_t index, const ControllerGroup::Run& run);

  Simulation& sim_;
  std::deque<Group> groups_;         // They do not move.
  Slab<ControllerGroup::Run> runs_;  // in flight
};

}  // namespace damper::lab
