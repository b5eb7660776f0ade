#ifndef DAMPER_LAB_WORLD_WEATHER_H_
#define DAMPER_LAB_WORLD_WEATHER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/instant.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// The Weather is which faults are on.
//
// Model: World turns each fault on and off at its time; here one asks what it means for a service,
// a replica or clients. Faults of one kind that overlap: the slowdowns and spikes multiply, of the
// capacities the smallest counts, of `down` and `errors` the one that is first in the scenario, of
// `held` the one that ends last.
// Thread safety: none. Cost: a look at the faults that are on, of which there are few.
class Weather {
 public:
  // The scenario outlives it, and has no error.
  explicit Weather(const Scenario& scenario);

  // Fault number `fault` of the scenario begins or ends. Ending one that is over is harmless.
  void turn(std::size_t fault, bool on);
  [[nodiscard]] bool any() const noexcept { return !on_.empty(); }
  [[nodiscard]] bool is_on(std::size_t fault) const noexcept;

  // The first fault of the kind that is on for a replica; null when none is.
  [[nodiscard]] const FaultSpec* find(FaultKind kind, std::size_t service,
                                      std::size_t replica) const noexcept;
  // When what is sent to the replica now arrives: at the end of the last `held`; kNever if `lost`.
  [[nodiscard]] Instant passes_at(std::size_t service, std::size_t replica,
                                  Instant now) const noexcept;
  // How many times as long a request takes that begins to be served now.
  [[nodiscard]] double slowness(std::size_t service, std::size_t replica) const noexcept;
  // The same of a fault that is over after so many requests: asked once for each that arrives.
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

#endif  // DAMPER_LAB_WORLD_WEATHER_H_
