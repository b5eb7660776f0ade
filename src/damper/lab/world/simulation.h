#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "damper/admit/criticality.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/dependency.h"
#include "damper/lab/record/recorder.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/active_faults.h"
#include "damper/lab/world/random_streams.h"
#include "damper/lab/world/simulated_calls.h"
#include "damper/lab/world/slab.h"
#include "damper/timer/event_queue.h"

namespace damper::lab {

// What an event is. The queue carries the number, which is part of the trace.
struct EventKind {
  enum Word : std::uint32_t {
    begin,     // a source of arrivals is due; subject: clients, detail: nth << 32 | source
    wake,      // the timer of a call; detail: the call
    deliver,   // a message arrives at its replica; detail: the message
    done,      // its service time is over; the same
    take,      // a worker's handover is over; subject: the replica, detail: the handover
    answer,    // an answer arrives at the caller; detail: the message
    fault_on,  // subject: the fault
    fault_off,
    event,   // an object of a controller changes; subject: its group, detail: the controller
    resync,  // a controller adds all of its keys; the same
    queue,   // the timer of a controller's queue; the same
  };
};

enum class Sender : std::uint8_t { client, service, controller };

// What the world keeps with each call.
struct CallData {
  Sender sender = Sender::client;
  bool in_fault = false;  // client: a fault was active when it started
  bool owned_above = false;
  bool unsent_owned_above = false;
  admit::Criticality criticality = admit::Criticality::critical;
  std::uint32_t group = 0;          // client, controller: position in the scenario
  std::uint32_t service = 0;        // that it calls
  std::uint32_t first_replica = 0;  // Balance::rotate: of its first attempt
  std::uint64_t origin = 0;  // client: nth << 32 | client; else the waiting message, or the run
  Handle before{};           // service: the list of all calls of the same message
  Handle after{};
  decide::Report report{.outcome = decide::Outcome::timeout};  // the last answer
};
using Calls = SimulatedCalls<CallData>;

// What each process of a caller shares among its calls to one service.
using Dependencies = std::vector<std::unique_ptr<engine::Dependency>>;

// A Simulation is the state that all parts of a world share.
struct Simulation {
  Simulation(const Scenario& the_scenario, std::uint64_t seed, bool latency_over_time,
             timer::Ties ties, Calls::Transport& transport, GaugeSource& gauges)
      : scenario(the_scenario),
        streams(seed),
        queue(ties),
        faults(scenario),
        calls(queue, streams, transport, EventKind::wake),
        recorder(scenario, seed, latency_over_time, gauges) {
    for (std::uint32_t i = 0; i < scenario.faults.size(); ++i) {
      const FaultSpec& fault = scenario.faults[i];
      queue.schedule(Instant{fault.at}, {EventKind::fault_on, i, 0});
      if (fault.requests > 0) continue;
      queue.schedule(Instant{fault.end()}, {EventKind::fault_off, i, 0});
    }
  }

  [[nodiscard]] Instant now() const noexcept { return queue.now(); }
  [[nodiscard]] std::uint32_t position(const std::string& service) const {
    return static_cast<std::uint32_t>(scenario.find_service(service).value());
  }
  [[nodiscard]] Dependencies make_dependencies(const std::string& service,
                                               std::int32_t count) const {
    const engine::Policy policy = scenario.policy_for(service);
    Dependencies all;
    for (std::int32_t i = 0; i < count; ++i) {
      all.push_back(std::make_unique<engine::Dependency>(service, policy));
    }
    return all;
  }

  const Scenario& scenario;
  const RandomStreams streams;
  timer::EventQueue queue;
  ActiveFaults faults;
  Calls calls;
  Recorder recorder;
};

}  // namespace damper::lab
