#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/engine/event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/certificate_watch.h"
#include "damper/proxy/data/forced_replicas.h"
#include "damper/proxy/data/kept_orders.h"
#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/proxy_state.h"
#include "damper/proxy/data/proxy_view.h"
#include "damper/proxy/health/health_checker.h"
#include "damper/proxy/names/upstream_names.h"

namespace damper::http {
class Resolver;
}

namespace damper::proxy {

class Worker;

struct ProxyOptions {
  // Used for the listener of that name and port, or the listener with the same bound address. A
  // proxy that has started closes these descriptors, unused ones too; a failed start leaves them.
  std::vector<InheritedSocket> inherited{};
  // Resolves cluster endpoints without respect_dns_ttl; used by one thread of the proxy, and
  // outlives the proxy. nullptr: the system's resolver.
  http::Resolver* resolver = nullptr;
  engine::EventSink* events = nullptr;  // outlives the proxy
};

// Reloads by `result`. A file that does not parse never reaches reload(): its reader counts it
// here.
inline constexpr std::string_view kReloadsMetric = "damper_proxy_reloads_total";
inline constexpr std::string_view kReloadsHelp = "Reloads by result.";

// A Proxy is the data plane: loops on threads of their own, their listeners, and the state that the
// loops share.
//
//   auto proxy = Proxy::start(config, options);
//   if (!proxy) ... proxy.error()
//   (*proxy)->reload(next);
//
// Model: one Worker per thread, and one ProxyGeneration in force. A reload prepares the next
// generation beside it and then makes every loop use it. The number of loops is fixed at the start.
// A listener is identified by its bound address, a route by its name and its cluster's, a cluster
// by its name. A switch belongs to the name of its scope: it stays off for a route that moves to
// another cluster, and for a route that is removed and added again. An order for a route with
// weighted_clusters is one for all of them, also for those that a reload adds; an order for one of
// them, "route/ROUTE@CLUSTER", leaves the others as they are.
// Invariants:
//   (1) A reload drops no connection and no request; listeners that remain keep their sockets;
//       budgets, breakers, limits and latencies of routes and clusters that remain are continuous.
//   (2) A reload that fails (a port is taken, a certificate cannot be read) changes nothing; a
//       start that fails leaves nothing behind.
//   (3) A connection that the kernel accepted before a drain is served.
// Thread safety: all methods may be called by any thread except the loops' own.
class Proxy {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<Proxy>, std::string> start(
      const ProxyConfig& config, const ProxyOptions& options);
  ~Proxy();  // Aborts requests in flight; call drain() first.

  // One sentence: the reason why nothing changed. If a loop cannot use a socket after the reload
  // was applied, the socket is closed and listener_failed is emitted.
  [[nodiscard]] std::optional<std::string> reload(const ProxyConfig& config);
  // Reads certificates, keys and CAs whose files have changed: see CertificateWatch. To be called
  // once in CertificateWatch::kEvery.
  void look_at_certificates();
  // Health pages and state() report from now on that the proxy drains. It serves as before.
  void announce_drain();
  // Accepts no new connections; returns when all requests have ended, or after `within`. Sockets
  // are closed; a process that inherited them keeps its duplicates.
  void drain(Duration within);
  // Emits client_over_limit for listeners that refused connections because of their client, and
  // kept_bytes_exhausted: see ClientConnections and KeptBytes. To be called once a second or so.
  void report_refusals(Instant now);

  [[nodiscard]] std::shared_ptr<const ProxyConfig> config() const { return in_force()->config; }
  [[nodiscard]] std::uint64_t version() const;  // 1, and one more for each reload
  [[nodiscard]] ProxyState state();             // waits for every loop, for a second at most
  [[nodiscard]] observe::Registry& registry() { return registry_; }
  // The listening sockets, for a successor: the proxy's own descriptors, valid until drain() or a
  // reload that removes the listener.
  [[nodiscard]] std::vector<InheritedSocket> sockets() const;
  // A successor has the sockets: the files of Unix sockets are not removed at the end.
  void keep_socket_files();
  // The bound port, for a listener with port 0.
  [[nodiscard]] std::uint16_t port(std::string_view listener) const;

  // Sets a switch of a scope. One sentence: the scope does not exist.
  [[nodiscard]] std::optional<std::string> flip(const SwitchScope& scope, admit::Switch which,
                                                const admit::SwitchSetting& setting);
  // Holds breakers open or closed, or resets them: the one of a route, those of all routes of a
  // cluster, or the one that each loop has for a replica of a cluster. One sentence: there is none,
  // and nothing has changed.
  [[nodiscard]] std::optional<std::string> force(const SwitchScope& scope,
                                                 const std::string& replica,
                                                 const admit::BreakerForceSetting& setting);
  // As in state(). None of these waits for a loop.
  [[nodiscard]] std::vector<ScopeState> switches() const;
  [[nodiscard]] std::vector<ForcedBreaker> forced() const;

 private:
  using Generation = std::shared_ptr<ProxyGeneration>;
  struct Flip {
    Instant until = Instant::min();
    std::string reason;
  };

  Proxy(const ProxyConfig& config, const ProxyOptions& options);
  [[nodiscard]] std::optional<std::string> begin(const ProxyConfig& config,
                                                 const std::vector<InheritedSocket>& inherited);
  [[nodiscard]] Generation in_force() const;
  [[nodiscard]] ProxyGeneration::Context context(const Generation& current);
  [[nodiscard]] std::optional<std::string> use(const Generation& next);
  void restore_switches(const ProxyGeneration& next);
  [[nodiscard]] std::optional<std::string> force_routes(const SwitchScope& scope,
                                                        const admit::BreakerForceSetting& setting,
                                                        Instant now);
  [[nodiscard]] std::optional<std::string> force_replica(const SwitchScope& scope,
                                                         const std::string& replica,
                                                         const admit::BreakerForceSetting& setting,
                                                         Instant now);
  [[nodiscard]] Expected<std::string> find_replica(const SharedCluster& cluster,
                                                   const std::string& text) const;
  [[nodiscard]] ProxyState view(Generation& current, Instant now) const;
  void write_metrics(observe::Exposition& out) const;
  void on_names_changed();
  void on_health_changed(const std::string& cluster);
  void check_health();

  const std::uint32_t loops_;
  engine::EventSink* const events_;
  const Instant started_;
  admit::RetryBudget budget_;
  observe::Registry registry_;
  observe::Counter& applied_;
  observe::Counter& refused_;
  std::map<std::string, std::unique_ptr<http::ServerMetrics>> listener_metrics_;
  std::mutex reloading_;  // one reload at a time
  CertificateWatch certificates_;
  mutable std::mutex mutex_;  // guards the following members; not held while waiting for a loop
  Generation in_force_;
  std::uint64_t version_ = 0;
  admit::PerSwitch<KeptOrders<Flip>> flips_;
  KeptOrders<HeldBreaker> held_;  // of routes
  bool draining_ = false;         // accepts no new connections
  bool announced_ = false;        // announce_drain()
  std::vector<LoopMetrics> loop_metrics_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // These outlive the workers, which the destructor ends first.
  std::mutex checking_;  // one use() of the checker at a time
  HealthChecker checker_;
  UpstreamNames names_;
  observe::Registry::Collection collection_;
};

}  // namespace damper::proxy
