#ifndef DAMPER_LAB_WORLD_ARRIVALS_H_
#define DAMPER_LAB_WORLD_ARRIVALS_H_

#include <cstddef>
#include <cstdint>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/random_streams.h"

namespace damper::lab {

// The time to the next of a Poisson process. 0 <= draw < 1.
[[nodiscard]] Duration exponential_gap(double rate_per_second, double draw) noexcept;

// Arrivals say when the clients of one group begin their requests.
//
// Why: draws of their own, by client and by request, so that two policies see the same arrivals
// whatever else they do. Model: a *source* is what has a next time: each client, where clients act
// by themselves (constant, spread, closed, once), or the group as a whole (poisson, bursts,
// metered). The world asks a source for its first time, and at each of its times for how many
// requests begin now and when its next time is.
// Thread safety: none. Cost: no allocation.
class Arrivals {
 public:
  // The spec outlives it. `group` is its position among the scenario's clients.
  Arrivals(const ClientsSpec& spec, std::size_t group, const RandomStreams& streams);

  // How many sources there are: one, or one for each client.
  [[nodiscard]] std::uint32_t sources() const noexcept;
  // When the source has its first time.
  [[nodiscard]] Instant first(std::uint32_t source);
  // How many requests begin now that the source's time has come. `rush` multiplies the rate.
  [[nodiscard]] std::uint32_t begin(double rush);
  // The time after `now`; kNever when there is none, or when it comes with the answer (closed).
  [[nodiscard]] Instant next(Instant now, double rush);
  // The time of the client's next request in a closed loop, now that its request number `nth`, from
  // 0, is over.
  [[nodiscard]] Instant after_answer(std::uint32_t client, std::uint32_t nth, Instant now) const;

  // The client that makes the next request, for a source that is a group.
  [[nodiscard]] std::uint32_t next_client();
  // A number for a request that begins now, the nth of its client, from 0 (a group counts by
  // itself): it tells requests apart, and is the same under every policy.
  [[nodiscard]] std::uint64_t number(std::uint32_t client, std::uint32_t nth) noexcept;
  // Whether each client is a source.
  [[nodiscard]] bool by_client() const noexcept;

 private:
  const ClientsSpec& spec_;
  const std::uint64_t group_;
  const RandomStreams& streams_;
  Random gaps_;
  Random choices_;
  double due_ = 0;  // metered: what has accumulated
  std::uint64_t begun_ = 0;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_ARRIVALS_H_
