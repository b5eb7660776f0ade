#ifndef DAMPER_PROXY_DATA_PROXY_GENERATION_H_
#define DAMPER_PROXY_DATA_PROXY_GENERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/places.h"
#include "damper/base/expected.h"
#include "damper/http/net/tls_settings.h"
#include "damper/http/server/server_metrics.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/listener_sockets.h"
#include "damper/proxy/data/shared.h"
#include "damper/proxy/data/shared_admission.h"

namespace damper::proxy {

// A ProxyGeneration is one configuration with everything that it needs and that may fail to be had:
// sockets, certificates; and with what all loops share. Loops make of it what each has of its own.
//
// Model: prepare() makes one beside the one in force and takes over from that what stays: a route
// by its name and its cluster's, a cluster by its name, a listener by where it listens (whatever it
// is called), or by name and address as the file has them (port 0, a socket of systemd's). A route
// that stays keeps its gate; one that had none gets a new one. commit() then tells what stays of
// its new options.
// Invariants:
//   (1) A prepare() that fails leaves the one in force as it was, and holds nothing.
// Thread safety: immutable between prepare() and commit(), and after.
struct ProxyGeneration {
  struct Listener {
    std::shared_ptr<ListenerSockets> sockets;
    std::optional<http::TlsSettings> tls{};
    http::ServerMetrics* metrics = nullptr;   // of the name that it was opened with
    std::shared_ptr<admit::Places> places{};  // of the connections on all loops
  };

  std::shared_ptr<const ProxyConfig> config;
  std::uint32_t loops = 1;
  std::vector<Listener> listeners;                           // as config->listeners
  std::vector<std::shared_ptr<SharedCluster>> clusters;      // as config->clusters
  std::vector<std::optional<http::TlsSettings>> client_tls;  // the same; nothing: no https
  std::vector<std::shared_ptr<SharedRoute>> routes;          // as config->routes
  std::vector<std::shared_ptr<SharedAdmission>> gates;       // the same; nullptr: it has none
  std::shared_ptr<const int> log;                            // the access log's descriptor

  // What a generation is made from. All of it outlives the generation.
  struct Ground {
    admit::RetryBudget& budget;  // of the process
    engine::EventSink* events;   // or nullptr
    std::uint32_t loops;
    const ProxyGeneration* in_force;  // nullptr: it is the first
  };
  // Sockets that were inherited, by what they are for: nothing for those that nobody wants.
  struct Inherited {
    std::string listener;
    int fd = -1;
    bool any_port = false;  // see InheritedSocket
  };
  // One sentence says why there is none. New sockets are bound and do not listen yet.
  [[nodiscard]] static Expected<std::shared_ptr<ProxyGeneration>> prepare(
      const ProxyConfig& config, const Ground& ground, const std::vector<Inherited>& inherited,
      Instant now);
  // New sockets listen from now on: the last thing that may fail.
  [[nodiscard]] std::optional<std::string> listen();
  // What stays has its new options.
  void commit(const Ground& ground, Instant now);
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_PROXY_GENERATION_H_
