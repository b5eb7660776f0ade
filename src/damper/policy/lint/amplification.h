#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "damper/config/error.h"
#include "damper/policy/file/facts.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// The call graph of the routes' facts: the layers of a system.

// For each route the positions of those that it calls. A name that no route has is left out, and so
// is a name that is there twice.
[[nodiscard]] std::vector<std::vector<std::size_t>> calls(std::span<const Route> routes);

// The routes in an order in which each stands before those that it calls. Routes of a cycle, and
// those below one, are not in it.
[[nodiscard]] std::vector<std::size_t> callers_first(
    const std::vector<std::vector<std::size_t>>& calls);

// That every route that is called is there, and that none calls itself, directly or through others.
[[nodiscard]] std::optional<config::Error> check_calls(const PolicyFile& file);

// The algebra of retries: how many attempts one request can become, and what that leaves of a
// capacity. Pure functions of the policy and the facts.
//
// Why: a cap on attempts looks harmless for one call. What a dependency gets in an outage is the
// cap, or the budget if that is lower, multiplied through the layers above; and what it can do,
// divided by that, is all that it may ever be given (Huang et al., "Metastable Failures in the
// Wild", OSDI 2022, theorem 2; Bronson et al., "Metastable Failures in Distributed Systems", HotOS
// 2021, has the example of 300/s with one retry: 150/s).

inline constexpr double kMostAmplified = 1e6;  // Through layers; what is more is shown as this.

// The most attempts after its first that a call can make, however much the budget has: num_retries;
// when nothing is retried the hedges alone.
[[nodiscard]] int most_extra_attempts(const Settings& settings);

// Whether the budget never refuses: it pays for every extra attempt of every call, or it is as wide
// as a budget can be.
[[nodiscard]] bool has_no_budget(const Settings& settings);

// The most attempts for each request, over all clients and any time that is long against the
// budget's window, when every attempt fails.
//
// Model: 1 + min(extra attempts, budget_percent + min_retries_per_second * clients / load). Without
// a known load a floor pays for everything: a quiet client earns none of its retries and is granted
// all. Where nothing but hedges is sent, at most the hedges' own ratio. The reserve counts for
// nothing, since an outage drains it once; nor do breaker, throttle and concurrency bound, which
// can only lower it.
[[nodiscard]] double worst_attempts(const Settings& settings);

// The stable part of a capacity when each request can become `attempts`: capacity / attempts.
// REQUIRES: attempts >= 1.
[[nodiscard]] double hidden_capacity(double capacity, double attempts);

// A route as a layer, and what it gets through the layers above it.
struct Layer {
  double attempts = 1;             // of each request that it is asked to make
  bool carries = true;             // See Facts::ownership.
  std::vector<std::size_t> calls;  // positions of the layers below
};
struct Amplified {
  double attempts = 1;                // at this layer, for one request at the top of the path
  std::vector<std::size_t> path;      // the worst one, from the top to this layer
  std::vector<std::size_t> retrying;  // those on it that multiply
};

// The worst that each layer can get, over all paths that end at it, one of them being itself alone.
//
// Model: a layer that forwards the owner header owns the retries of requests without an owner
// above, if it retries at all, and sends owned requests once. A layer that does not forward it
// always retries, and the layers below see no owner. Layers of a cycle, and those below one, are
// taken alone.
// Invariants:
//   (1) At least the layer's own attempts; at most the product of all on the path, and
//       kMostAmplified.
//   (2) Where all carry, at most the largest of those on the path.
// Cost: linear in layers and calls, but for copying the paths.
[[nodiscard]] std::vector<Amplified> amplify(std::span<const Layer> layers);

// The routes as layers.
[[nodiscard]] std::vector<Layer> layers_of(std::span<const Route> routes);

}  // namespace damper::policy
