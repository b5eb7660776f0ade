#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/network.h"
#include "damper/lab/world/random_streams.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {

// The time to the next of a Poisson process. 0 <= draw < 1.
[[nodiscard]] Duration exponential_gap(double rate_per_second, double draw) noexcept;

// Arrivals determine when the clients of one group start their requests.
//
// Why: draws of their own, by client and by request, so that two policies see the same arrivals.
// Model: a *source* has a next time. Each client is one where clients act by themselves (constant,
// spread, closed, once); else the group is (poisson, bursts, metered). ClientGroups schedules the
// first time of each source and, at each of its times, starts requests and schedules the next.
// Thread safety: none. Cost: no allocation.
class Arrivals {
 public:
  // The spec outlives it. `group` is its position among the scenario's clients.
  Arrivals(const ClientsSpec& spec, std::size_t group, const RandomStreams& streams);

  // The number of sources: one, or one for each client.
  [[nodiscard]] std::uint32_t sources() const noexcept;
  // The first time of the source.
  [[nodiscard]] Instant first(std::uint32_t source);
  // The number of requests that start when a source is due. `rush` multiplies the rate.
  [[nodiscard]] std::uint32_t begin(double rush);
  // The time after `now`; kNever: none, or after the answer (closed).
  [[nodiscard]] Instant next(Instant now, double rush);
  // The last result of first() or next() of a group that is the only source, before `until` is
  // applied to it.
  [[nodiscard]] Instant unbounded() const noexcept { return unbounded_; }
  // Whether a change of the rate moves a time that is scheduled already: of a Poisson process, the
  // rest of the gap is scaled.
  [[nodiscard]] bool follows_rate() const noexcept {
    return spec_.loop == Loop::open && spec_.arrivals == Pattern::poisson;
  }
  [[nodiscard]] Instant bounded(Instant at) const noexcept {
    return at > Instant{spec_.until} ? kNever : at;
  }
  // The time of the client's next request in a closed loop, now that its request number `nth`, from
  // 0, is over.
  [[nodiscard]] Instant after_answer(std::uint32_t client, std::uint32_t nth, Instant now) const;

  // The client that makes the next request, for a source that is a group.
  [[nodiscard]] std::uint32_t next_client();
  // A number for a request that begins now, the nth of its client, from 0 (a group counts by
  // itself): it identifies the request, and is the same under every policy.
  [[nodiscard]] std::uint64_t number(std::uint32_t client, std::uint32_t nth) noexcept;
  // Whether each client is a source.
  [[nodiscard]] bool by_client() const noexcept;

 private:
  const ClientsSpec& spec_;
  const std::uint64_t group_;
  const RandomStreams& streams_;
  Random gaps_;
  Random choices_;
  Instant unbounded_ = kNever;
  double due_ = 0;  // metered: what has accumulated
  std::uint64_t begun_ = 0;
};

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
  // A spike of the group has begun or ended: its next arrival follows the new rate.
  void on_spike(std::uint32_t index);
  void on_over(const Calls::Operation& request, Verdict verdict);
  // A message of a request is about to be sent.
  void on_send(const CallData& request, Message& message) const;
  // Whether the client gives its request up after the failed attempt, an error or a timeout,
  // independently of its policy. `attempt` identifies the draw.
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
    std::uint32_t home;         // the group whose dependencies it uses
    Dependencies dependencies;  // by process; empty if it uses another group's
    std::vector<Process> processes;
    std::uint32_t in_flight = 0;
    // Of a group that follows the rate: its next arrival.
    timer::EventQueue::Timer pending{};
    Instant next = kNever;  // before `until` is applied
    std::uint64_t detail = 0;
    double rush = 1;

    [[nodiscard]] std::uint32_t process_of(std::uint32_t client) const noexcept {
      return client % static_cast<std::uint32_t>(spec->processes);
    }
  };
  // The dependencies of the group, by process.
  [[nodiscard]] const Dependencies& dependencies_of(const Group& group) const noexcept {
    return groups_[group.home].dependencies;
  }
  void begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth);

  Simulation& sim_;
  std::vector<Group> groups_;
};

}  // namespace damper::lab
