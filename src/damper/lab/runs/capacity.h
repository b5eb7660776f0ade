#pragma once

#include <cstddef>
#include <string>

#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// The capacity of a service in requests a second: how many its workers complete when all of them
// are busy, without faults.
struct Capacity {
  double known = 0;    // 0: not known
  double at_most = 0;  // an upper bound, if it is not known; 0: none, there is no bound of workers
  std::string why{};   // why it is not known: "its workers wait for db, where requests may queue"
};

// Computes it from the scenario.
//
// Why: a capacity that is too high makes an overloaded service look safe. What counts is the mean
// time that a worker is busy; the median of what it waits for is 31 % less if that is exponential.
// Model: replicas * workers / busy, where busy is the mean service time (with `grain` and
// `per_request` of a replica whose workers are all busy), `handover`, and the mean of the slowest
// of its calls. The mean of one call is exact: means add up. The mean of the slowest of several is
// that of up to 40,000 samples, of the same random numbers each time.
// Not known, because the time that a worker is busy depends on the load or on the policy:
//   - a request may queue at a service that is called. It cannot if that service has a worker for
//     every request, or at least as many in each replica as calls can be in flight to it
//   - calls are lost, fail, time out (for over 0.5 % of the busy time), are hedged or are limited
//   - `handover` is over 2 % of the busy time: requests that arrive then do not wait for it
//   - an adaptive limit of the service, or its optimistic row
//   - samples vary, and their mean is not known to 0.7 %
// Then at_most is the bound without any of these delays.
// Invariants:
//   (1) A saturated service in the lab serves what is known within 3 %, and not over at_most by
//       more (capacity_test.cc, random graphs of services).
//   (2) The same scenario gives the same bits everywhere.
// REQUIRES: !find_error(scenario).
// Cost: up to a million samples, 50 ms, for calls of several services; else some hundred.
[[nodiscard]] Capacity capacity_of(const Scenario& scenario, std::size_t service);

}  // namespace damper::lab
