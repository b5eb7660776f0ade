#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/instant.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// ActiveFaults are the faults that are on, and their effect on a service, a replica or clients.
//
// Model: the world turns each fault on and off at its time. Of overlapping faults of one kind:
// slowdowns and spikes multiply, the smallest capacity counts, `down` and `errors` are those of the
// first in the scenario, and `held` lasts until the last ends.
// Thread safety: none. Cost: a scan of the active faults, which are few.
class ActiveFaults {
 public:
  // The scenario outlives it, and has no error.
  explicit ActiveFaults(const Scenario& scenario);

  // Fault number `fault` of the scenario begins or ends. Ending one that is over has no effect.
  void turn(std::size_t fault, bool on);
  [[nodiscard]] bool any() const noexcept { return !on_.empty(); }
  [[nodiscard]] bool is_on(std::size_t fault) const noexcept;

  // The first active fault of the kind at the replica; null if there is none.
  [[nodiscard]] const FaultSpec* find(FaultKind kind, std::size_t service,
                                      std::size_t replica) const noexcept;
  // When a message to or from the replica passes: now, at the end of the last `held`, or kNever
  // (`lost`).
  [[nodiscard]] Instant passes_at(std::size_t service, std::size_t replica,
                                  Instant now) const noexcept;
  // The factor of the service time of a request that a worker starts now.
  [[nodiscard]] double slowness(std::size_t service, std::size_t replica) const noexcept;
  // The same for faults that end after a number of requests. Call once for each that arrives.
  [[nodiscard]] double cost_of_next(std::size_t service, std::size_t replica);
  [[nodiscard]] double capacity(std::size_t service, std::size_t replica) const noexcept;
  [[nodiscard]] double spike(std::size_t clients) const noexcept;

 private:
  struct Fault {
    const FaultSpec* spec = nullptr;
    std::size_t on = 0;  // service or clients, by position
    std::int64_t requests = 0;
  };
  [[nodiscard]] static bool covers(const Fault& fault, FaultKind kind, std::size_t service,
                                   std::size_t replica) noexcept;

  std::vector<Fault> all_;
  std::vector<std::size_t> on_;  // positions in all_, ascending
};

}  // namespace damper::lab
