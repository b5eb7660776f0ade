#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"

namespace damper::policy {

inline constexpr std::size_t kMostCalls = 100;  // routes that one route names in `calls`

// Facts describe the dependency of a policy: its capacity, its load, its latencies, and the call
// graph.
//
// Why: a retry policy is neither safe nor unsafe by itself. Two attempts for each request are
// harmless at a tenth of the capacity and an outage at two thirds of it. The linter (lint.h) can
// only tell with the numbers.
// Model: the `facts` block of a route in a policy file, or of another source; the engine ignores
// them. All rates are of all clients together. A fact that is 0 or empty is unknown, and no finding
// relies on it.
struct Facts {
  double capacity = 0;  // requests a second that the dependency can do
  // Of a capacity that is not known, from a scenario (lab/runs/capacity.h): a bound, and the
  // reason.
  double capacity_at_most = 0;
  std::string capacity_doubt;
  double load = 0;           // requests a second that it gets, first tries only
  std::int64_t clients = 1;  // processes that each have a budget of their own

  struct Latency {  // of a healthy attempt
    Duration p50{0};
    Duration p99{0};
    Duration p999{0};
  };
  Latency latency;

  std::uint32_t methods = 0;       // What is sent: a bit for each of kMethodNames.
  bool assume_idempotent = false;  // Every request is retried, whatever its method.

  std::vector<std::string> calls;  // Routes that the service behind this one calls: layers.
  bool ownership = true;           // Its calls carry damper-retry-owner, and it obeys the header.
};

inline constexpr std::array<std::string_view, 8> kMethodNames = {
    "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH"};

}  // namespace damper::policy
