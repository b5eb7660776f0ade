#pragma once

#include <optional>
#include <string_view>
#include <unordered_set>

#include "damper/base/unix_time.h"
#include "damper/webhooks/dispatch/directory.h"
#include "damper/webhooks/dispatch/dispatcher.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// EndpointNotices make messages of what happens to endpoints, for the other endpoints of their
// application that subscribe to them by name: damper.endpoint.failing, damper.endpoint.recovered,
// damper.endpoint.disabled, or damper.*.
//
// Model: failing is told once, until the endpoint has recovered or was disabled; a breaker that
// opens again after a failed probe is no news.
// Invariants:
//   (1) No notice is about an endpoint that subscribes to notices: the failure of a notice makes
//       none, so there are no loops.
//   (2) `*`, and no types at all, do not subscribe: notices are asked for.
// Thread safety: none.
class EndpointNotices {
 public:
  // The directory outlives it.
  explicit EndpointNotices(const Directory& directory) : directory_(directory) {}

  // The message of an event, without an id; nothing: there is none, or no endpoint gets it.
  [[nodiscard]] std::optional<NewMessage> on_event(const DeliveryEvent& event, UnixTime now);

 private:
  const Directory& directory_;
  std::unordered_set<Id> failing_;
};

}  // namespace damper::webhooks
