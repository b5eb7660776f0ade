#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "damper/base/percent.h"
#include "damper/lab/record/record.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A Measure is one number that a run is judged by: what scenarios promise, what a comparison
// shows, what the map counts. Clients are the scenario's first group, the service is the one that
// they (or, without clients, the first controllers) call, unless the name names another.
//
// Invariants:
//   (1) A measure is a function of the scenario and the record; it has the same bits everywhere.
//   (2) An undefined measure is NaN: the p99 of no successes, the end of a fault that the
//       run did not see.
struct Measure {
  std::string_view name;
  std::string_view unit;  // "", "ms", "s", "%", "/s"
  std::string_view what;  // one sentence, without its full stop
  double (*of)(const Scenario& scenario, const Record& record) = nullptr;
  // Of a percentile of latencies: where they are, null if there are none, and which one. Over
  // several runs it is that of all their latencies together.
  const LatencySketch* (*latencies)(const Record& record) = nullptr;
  Percent share{};
};

// All of them, in the order in which reports show them:
//   attempts_per_request           attempts sent by the clients, by request
//   attempts_per_request_in_fault  the same of requests that started while a fault was on
//   attempts_at_bottom             attempts that reached the end of the chain of calls, by request
//                                  of all clients
//   success                        % of requests that succeeded, of those that are over
//   goodput_at_end                 % of requests offered in the last tenth of the run that
//                                  succeeded
//   collapsed                      1 when the system was down at the end though every fault was
//                                  over
//   back_after                     s from the last fault's end to the first second from which on
//                                  99 % of what is offered succeeds; the rest of the run if never
//   tallest_retries                most retries that reached the service in 100 ms
//   tallest_attempts               the same of all attempts
//   arrivals_at_end                attempts a second at the service, in the last tenth of the run
//   wasted                         % of served requests whose caller had given up
//   refused                        % of attempts that queue or limit of the service turned away
//   deepest_queue                  most requests that waited at the service at the end of a bucket
//   hedges                         % of the service's first tries that had a hedge
//   p50, p99, p999                 ms, of successful requests
//   over_half_second               % of successful requests that took over 500 ms
//   over_second                    the same of 1 s
//   requests, attempts             how many there were, of the clients
//   failed                         % of requests that ended without success, of all of them
//   last_end                       s until the last request was over
// Of the first controllers, and of the service that they call:
//   runs_per_event                 runs, by event
//   runs_per_event_in_fault        runs started while a fault was on, by event in that time
//   retried_runs                   % of runs whose key failed the last time
//   load_in_fault                  attempts a second at the service while a fault was on
//   peak_in_fault                  the same in the busiest 100 ms
//   queued_p99                     ms that a healthy key waited for a worker
//   settled_p99                    ms from an event to the end of a successful run that saw it, of
//                                  healthy keys: the events that a run saw count as one
//   failing_at_end                 healthy keys whose last run failed, and which wait
//   backlog_at_end                 keys that wait, for a worker or in their backoff
//   parked_at_end                  keys that were given up
// Without clients, back_after is that of the controllers: until at most 1 % of the healthy keys
// have failed and not run well since.
[[nodiscard]] std::span<const Measure> measures();
// Null when there is none of that name.
[[nodiscard]] const Measure* find_measure(std::string_view name);

// Whether the system was down at the end though every fault was over: goodput_at_end under 50 %.
[[nodiscard]] bool is_collapsed(const Scenario& scenario, const Record& record);

// The service that the first clients (or controllers) call, and the end of the chain of calls from
// there: the last of each service's calls. Positions in the record; nothing when it has no such
// service.
[[nodiscard]] std::optional<std::size_t> called_service(const Scenario& scenario,
                                                        const Record& record);
[[nodiscard]] std::optional<std::size_t> bottom_service(const Scenario& scenario,
                                                        const Record& record);

}  // namespace damper::lab
