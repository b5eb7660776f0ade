#ifndef DAMPER_CLI_CTL_CTL_LOOKS_H_
#define DAMPER_CLI_CTL_CTL_LOOKS_H_

#include <cstdint>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/engine/tally.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::cli {

// Two looks at a proxy, `apart` from each other: what it does now is their difference.
//
// Why: counts are since the process began. After a month of health an outage of ten minutes is not
// seen in them, and after an outage the health is not.
struct Looks {
  proxy::ProxyState before;
  proxy::ProxyState after;
  Duration apart{0};
};

// Looks twice, so long apart; or once, and compares with the beginning of the process.
[[nodiscard]] Expected<Looks, proxy::AdminClientError> look_twice(proxy::AdminClient& client,
                                                                  Duration apart);
[[nodiscard]] Expected<Looks, proxy::AdminClientError> look_since_start(proxy::AdminClient& client);

struct Look {
  proxy::ProxyState state;
  Instant at{};
};
[[nodiscard]] Expected<Look, proxy::AdminClientError> look(proxy::AdminClient& client);

// A route as it is, and what it did in between.
struct RouteChange {
  const proxy::RouteState* now;
  engine::Tally tally{};
};
// In the order of `after`, which outlives them. A route that is new counts from 0; after a start in
// between nothing is negative.
[[nodiscard]] std::vector<RouteChange> changes_between(const proxy::ProxyState& before,
                                                       const proxy::ProxyState& after);

// Calls with a final answer that is no success and no failure of the route: 404, or somebody else
// wrote first.
[[nodiscard]] std::uint64_t final_answers(const engine::Tally& tally);
// Of the others, the share that succeeded; 1 when there were none.
[[nodiscard]] double success_share(const engine::Tally& tally);
// 0 when there is no whole.
[[nodiscard]] double share_of(std::uint64_t part, std::uint64_t whole);

}  // namespace damper::cli

#endif  // DAMPER_CLI_CTL_CTL_LOOKS_H_
