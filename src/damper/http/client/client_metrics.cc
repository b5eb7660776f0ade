#include "damper/http/client/client_metrics.h"

#include <string_view>
#include <utility>

namespace damper::http {
namespace {

std::uint64_t read(const ClientMetrics::Count& count) noexcept {
  return count.load(std::memory_order_relaxed);
}

void write_by_reason(observe::Exposition& out, std::string_view name, std::string_view help,
                     std::string_view client, const ClientMetrics::ByReason& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.counter(name, help,
                {{"client", std::string(client)}, {"reason", std::string(kCloseReasonNames[i])}},
                read(counts[i]));
  }
}

}  // namespace

void ClientMetrics::write(std::string_view client, observe::Exposition& out) const {
  const observe::Labels labels{{"client", std::string(client)}};
  out.gauge("damper_http_client_connections", "Connections that are open.", labels,
            read(connections));
  out.gauge("damper_http_client_idle", "Connections without a stream.", labels, read(idle));
  out.gauge("damper_http_client_held",
            "Connections that wait for a client's upload or reading; beside max_connections.",
            labels, read(held));
  out.gauge("damper_http_client_waiting", "Requests that wait for a connection.", labels,
            read(waiting));
  out.counter("damper_http_client_opened_total", "Connections that came about.", labels,
              read(opened));
  out.counter("damper_http_client_refused_total",
              "Requests that were refused: too many waited for a connection.", labels,
              read(refused));
  write_by_reason(out, "damper_http_client_closed_total", "Connections that ended, by why.", client,
                  closed);
  write_by_reason(out, "damper_http_client_failed_dials_total",
                  "Connections that did not come about, by why.", client, failed_dials);
}

observe::Registry::Collection ClientMetrics::show(observe::Registry& registry,
                                                  std::string client) const {
  return registry.collect(
      [this, client = std::move(client)](observe::Exposition& out) { write(client, out); });
}

}  // namespace damper::http
