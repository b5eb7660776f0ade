#pragma once

#include <cstdint>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/engine/tally.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::cli {

// Two snapshots of a proxy, `apart` from each other: current rates are their difference.
//
// Why: counters start with the process. After a month they do not show an outage of ten minutes.
struct Snapshots {
  proxy::ProxyState before;
  proxy::ProxyState after;
  Duration apart{0};
};

// Takes two snapshots, `apart` from each other; or one, compared with the start of the process.
[[nodiscard]] Expected<Snapshots, proxy::AdminClientError> take_snapshots(
    proxy::AdminClient& client, Duration apart);
[[nodiscard]] Expected<Snapshots, proxy::AdminClientError> snapshots_since_start(
    proxy::AdminClient& client);

struct Snapshot {
  proxy::ProxyState state;
  Instant at{};
};
[[nodiscard]] Expected<Snapshot, proxy::AdminClientError> take_snapshot(proxy::AdminClient& client);

// A route in the second snapshot, and its calls between the two.
struct RouteChange {
  const proxy::RouteState* now;
  engine::Tally tally{};
};
// In the order of `after`, which outlives them. A new route counts from 0; so does every route if
// the proxy was restarted in between.
[[nodiscard]] std::vector<RouteChange> changes_between(const proxy::ProxyState& before,
                                                       const proxy::ProxyState& after);

// Calls with a final answer that is neither a success nor a failure of the route: 404, a conflict.
[[nodiscard]] std::uint64_t final_answers(const engine::Tally& tally);
// The share of the other calls that succeeded; 1 without any.
[[nodiscard]] double success_share(const engine::Tally& tally);
// 0 if `whole` is 0.
[[nodiscard]] double share_of(std::uint64_t part, std::uint64_t whole);

}  // namespace damper::cli
