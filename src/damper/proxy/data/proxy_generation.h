#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/quota.h"
#include "damper/base/expected.h"
#include "damper/http/peer/client_connections.h"
#include "damper/http/peer/client_rates.h"
#include "damper/http/server/server_metrics.h"
#include "damper/http/tls/tls_settings.h"
#include "damper/http/trace/trace_exporter.h"
#include "damper/proxy/config/listener_rules.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/kept_bytes.h"
#include "damper/proxy/data/listener_sockets.h"
#include "damper/proxy/data/shared.h"
#include "damper/proxy/data/shared_admission.h"
#include "damper/proxy/data/tls_files.h"

namespace damper::proxy {

// A ProxyGeneration is one configuration with its resources (sockets, certificates) and the state
// that all loops share. Each loop builds its own tables from it.
//
// Model: prepare() creates a generation beside the one in force and takes over what remains: a
// route by its name and its cluster's, a cluster by its name, a listener by its bound address, or
// by the name and address of the file (port 0, a socket of systemd). A Unix socket whose file was
// deleted does not remain: a new one is bound. A route that remains keeps its gate; a route without
// one gets a new one. commit() then applies the new options to what remains.
// Invariants:
//   (1) A prepare() that fails leaves the generation in force as it was, and holds nothing.
// Thread safety: immutable between prepare() and commit(), and after.
struct ProxyGeneration {
  struct Listener {
    std::shared_ptr<ListenerSockets> sockets;
    std::optional<http::TlsSettings> tls{};
    http::ServerMetrics* metrics = nullptr;              // labelled with the name at its opening
    std::shared_ptr<admit::Quota> quota{};               // connections, of all loops together
    std::shared_ptr<http::ClientConnections> clients{};  // nullptr: no limit by client
    ListenerRules rules{};
    FileStamps stamps{};                       // of tls_files(), before they were read
    std::shared_ptr<http::TicketKeys> keys{};  // of the session tickets; kept with the sockets
  };

  std::shared_ptr<const ProxyConfig> config;
  std::uint32_t loops = 1;
  std::vector<Listener> listeners;                       // as config->listeners
  std::vector<std::shared_ptr<SharedCluster>> clusters;  // as config->clusters
  std::vector<std::optional<http::TlsSettings>>
      client_tls;                         // as config->clusters; nothing: no https
  std::vector<FileStamps> client_stamps;  // of tls_files(), as config->clusters
  // Those of config->routes in order; a route with weighted_clusters has one for each of them.
  std::vector<std::shared_ptr<SharedRoute>> routes;
  std::vector<const RouteConfig*> route_configs;        // as routes; in *config
  std::vector<std::shared_ptr<SharedAdmission>> gates;  // as routes; nullptr: none
  std::shared_ptr<http::TraceExporter> tracing;         // nullptr: no tracing
  // As routes; nullptr: none. The clusters of a route have the same.
  std::vector<std::shared_ptr<http::ClientRates>> client_rates;
  std::shared_ptr<const int> log;      // the access log's descriptor
  std::shared_ptr<KeptBytes> kept;     // of the proxy
  std::shared_ptr<admit::Quota> held;  // connections to upstreams, of the proxy: config->max_held

  // The proxy's part of a generation; outlives it.
  struct Context {
    admit::RetryBudget& budget;  // of the process
    engine::EventSink* events;   // or nullptr
    std::uint32_t loops;
    const ProxyGeneration* in_force;  // nullptr: this is the first
  };
  // One sentence: why it failed. New sockets are bound and do not listen yet.
  [[nodiscard]] static Expected<std::shared_ptr<ProxyGeneration>> prepare(
      const ProxyConfig& config, const Context& context,
      const std::vector<InheritedSocket>& inherited, Instant now);
  // Makes new sockets listen: the last step that may fail.
  [[nodiscard]] std::optional<std::string> listen();
  // Applies the new options to the routes and clusters that remain.
  void commit(const Context& context, Instant now);
};

}  // namespace damper::proxy
