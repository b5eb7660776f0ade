#pragma once

#include <cstdint>

#include "damper/base/instant.h"
#include "damper/engine/delivery/redelivery.h"

namespace damper::lab {

// A world of webhooks in virtual time: many endpoints on few hosts, all of which are down from the
// start to `down`, and a fleet of dispatchers. Drives the dispatcher's own parts of the engine
// (engine/delivery): there is no retry logic here.
//
// The same seed gives the same result everywhere.
struct WebhookFleet {
  int hosts = 10;
  int endpoints = 1000;  // of all hosts
  int dispatchers = 8;
  int deliveries = 10'000;  // of all endpoints, due at the start
  Duration down = std::chrono::seconds(60);
  Duration answer = std::chrono::milliseconds(50);  // the time of an attempt
  std::uint64_t seed = 1;
};

// What arrived when every delivery is retried by its schedule alone, without a breaker.
struct RetryHerd {
  std::int64_t retries = 0;
  std::int64_t tallest = 0;    // retries in the tallest 100 ms
  Duration last_delivered{0};  // after the hosts were back
};
// REQUIRES: !find_error(policy).
[[nodiscard]] RetryHerd run_retry_herd(const WebhookFleet& fleet,
                                       const engine::DeliveryPolicy& policy);

// How the breakers of the endpoints probe.
struct ProbeRules {
  bool jitter = true;  // of the open times
  bool lease = true;   // The fleet has one breaker for an endpoint; false: each dispatcher has one.
  bool rates = true;   // of the probes of a host, 20 a second, and of all, 100 a second
};

struct ProbeHerd {
  std::int64_t probes = 0;
  std::int64_t tallest = 0;  // probes in the tallest 100 ms
  std::int64_t at_once = 0;  // the most probes in flight to one endpoint
  Duration last_closed{0};   // the last breaker, after the hosts were back
};
[[nodiscard]] ProbeHerd run_probe_herd(const WebhookFleet& fleet, const ProbeRules& rules);

}  // namespace damper::lab
