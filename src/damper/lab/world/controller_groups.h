#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "damper/lab/world/controller_group.h"
#include "damper/lab/world/network.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {

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
