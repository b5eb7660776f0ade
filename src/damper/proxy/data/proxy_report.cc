// The events of a Proxy about what it refused.

#include <string>

#include "damper/observe/process_event.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

void Proxy::report_refusals(Instant now) {
  const Generation current = in_force();
  if (const auto count = current->kept->find_report(now); count && events_ != nullptr) {
    const std::string detail = "requests in memory have reached max_kept_bytes, " +
                               std::to_string(current->kept->limit()) +
                               ": further ones are not kept for a retry, or shed";
    events_->on_event({.kind = observe::ProcessEvent::kept_bytes_exhausted,
                       .key = "proxy",
                       .at = now,
                       .count = static_cast<std::int64_t>(*count),
                       .detail = detail});
  }
  for (std::size_t i = 0; i < current->listeners.size(); ++i) {
    const auto& clients = current->listeners[i].clients;
    const auto report = clients == nullptr ? std::nullopt : clients->find_report(now);
    if (!report || events_ == nullptr) continue;
    const std::string detail = "client " + report->client + " of listener " +
                               current->config->listeners[i].name + " has " +
                               std::to_string(clients->limit()) +
                               " connections, max_connections_per_client; further ones are closed";
    events_->on_event({.kind = observe::ProcessEvent::client_over_limit,
                       .key = "proxy",
                       .at = now,
                       .count = static_cast<std::int64_t>(report->refused),
                       .detail = detail});
  }
}

}  // namespace damper::proxy
