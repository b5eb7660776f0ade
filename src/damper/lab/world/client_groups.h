#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/lab/world/arrivals.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {

// The ClientGroups start the requests of the scenario's clients, and record how they end.
//
// Model: Arrivals determine when requests begin. Each process of a group has an engine::Dependency
// of its own, and counts what clients give up by (ClientsSpec: gives_up, gives_up_over, bucket).
// Thread safety: none. Cost: 90 KiB for each process.
class ClientGroups {
 public:
  // Schedules the first arrivals. The simulation outlives it.
  explicit ClientGroups(Simulation& simulation);

  // A source of arrivals is due.
  void on_begin(std::uint32_t group, std::uint64_t detail);
  void on_over(const Calls::Operation& request, Verdict verdict);
  // Whether the client gives its request up after the failed attempt, independently of its policy.
  [[nodiscard]] bool gives_up(const Calls::Operation& request, std::uint32_t attempt);

  void read(std::size_t index, Instant now, ClientsTick& tick) const;
  // Aborts unless there are that number of requests in flight, by group.
  void check(const std::vector<std::size_t>& in_flight) const;

 private:
  struct Process {
    double requests = 0;
    double failures = 0;
    double tokens = 0;
  };
  struct Group {
    const ClientsSpec* spec;
    std::uint32_t service;
    Arrivals arrivals;
    Dependencies dependencies;  // by process
    std::vector<Process> processes;
    std::uint32_t in_flight = 0;

    [[nodiscard]] std::uint32_t process_of(std::uint32_t client) const noexcept {
      return client % static_cast<std::uint32_t>(spec->processes);
    }
  };
  void begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth);

  Simulation& sim_;
  std::vector<Group> groups_;
};

}  // namespace damper::lab
