#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/quota.h"
#include "damper/balance/replicas.h"
#include "damper/http/client/attempt_driver.h"
#include "damper/http/client/client_metrics.h"
#include "damper/http/client/pool.h"
#include "damper/http/net/loop.h"
#include "damper/http/tls/tls_settings.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/forced_replicas.h"
#include "damper/proxy/data/proxy_state.h"
#include "damper/proxy/data/replica_endpoints.h"
#include "damper/proxy/health/cluster_health.h"

namespace damper::proxy {

// One loop's share of a bound of all loops together, rounded up: loops * share >= all.
[[nodiscard]] constexpr std::size_t share_of(std::size_t all, std::size_t loops) noexcept {
  return all / loops + (all % loops == 0 ? 0 : 1);
}

// An Upstream is a cluster on one loop: its replicas and a pool for each.
//
// Model: a DNS name expands to one replica per address; use() sets the addresses. A removed replica
// gets no new attempts, its idle connections close, and its requests in flight continue. A reload
// keeps the pools, breakers and latencies of the replicas that stay; if the connections' settings
// have changed (pool, dialer, TLS, protocol) they get new pools and keep breaker and latency. An
// address has the zone of its endpoint, and the order of a key depends on replica_name(). The
// pools' bounds are those of all loops together: each loop has its share, rounded up. They are not
// one count: a loop that found it used up would wait for connections that are idle on another loop,
// which cannot lend them.
// Invariants:
//   (1) A pool is destroyed only when it is unused and no ReplicaLease refers to it, and never from
//       within a call of one of its users.
//   (2) At most kMostReplicas; further addresses are counted as left out and tried again later: a
//       removed replica keeps its number while it is used.
// Thread safety: none; one loop. The ClientMetrics may be read by any thread.
class Upstream final : private http::Loop::Timer {
  class Host;

 public:
  // `tls`: if an endpoint has https. The referenced objects outlive it.
  struct Setting {
    const ClusterConfig& config;
    const std::optional<http::TlsSettings>& tls;
    const Addresses& addresses;
    std::uint32_t loops = 1;
    std::shared_ptr<admit::Quota> held{};            // see http::PoolOptions::held
    std::shared_ptr<const ForcedReplicas> forced{};  // nullptr: none
    std::shared_ptr<const ClusterHealth> health{};   // nullptr: none
    std::string zone{};                              // of this proxy; empty: none
  };
  Upstream(http::Loop& loop, const Setting& setting);
  ~Upstream() override;

  // For one more attempt of a call: see Replicas::pick_next(). Empty: no address is known, or an
  // operator holds all replicas open. `key` is for LbPolicy::consistent_hash.
  [[nodiscard]] http::ReplicaLease pick_next(balance::ReplicaSet& tried,
                                             const balance::ReplicaSet& in_use, Instant now,
                                             double draw, std::optional<std::uint64_t> key);

  // REQUIRES: the cluster's name is the same.
  void reload(const Setting& setting);
  // Sets the TLS settings of future connections: its files have changed. REQUIRES: it has TLS.
  void use_tls(const http::TlsSettings& tls);
  // Sets the names' addresses, changed or not.
  void use(const Addresses& addresses);
  // What an operator holds for a replica has changed; unknown replicas are ignored.
  void look_at_forced(const std::string& replica);
  // Verdicts of health checks have changed.
  void look_at_health();
  // Whether none of its connections is in use: it may be destroyed, but not from within a call.
  [[nodiscard]] bool is_unused() const noexcept;
  [[nodiscard]] bool has_replicas() const noexcept { return replicas_.count() > 0; }

  // Of the replicas on this loop, those that are neither ejected nor unhealthy.
  struct Usable {
    std::size_t usable = 0, replicas = 0;
  };
  [[nodiscard]] Usable usable(Instant now) const;
  // Adds its state to that of other loops.
  void describe(ClusterState& state, Instant now) const;
  [[nodiscard]] std::shared_ptr<const http::ClientMetrics> metrics() const noexcept {
    return metrics_;
  }

 private:
  struct Parts;  // shared by its pools

  void on_timer(Instant now) override;
  void settle_hosts(const Addresses& addresses);
  void settle_zones();
  [[nodiscard]] const std::string& zone_of(const http::Endpoint& endpoint) const;
  [[nodiscard]] std::unique_ptr<Host> make_host(const http::Endpoint& endpoint) const;
  void retire_host(std::unique_ptr<Host> host);
  void look_later();

  ClusterConfig config_;
  Addresses addresses_;  // while some are left out
  std::uint32_t loops_;
  const std::shared_ptr<admit::Quota> held_;  // of the proxy: the same after every reload
  const std::shared_ptr<http::ClientMetrics> metrics_;
  std::shared_ptr<Parts> parts_;
  balance::Replicas replicas_;
  std::vector<std::unique_ptr<Host>> hosts_;    // by number; nullptr: there is none
  std::vector<std::unique_ptr<Host>> retired_;  // that are still used
  std::size_t left_out_ = 0;
  std::shared_ptr<const ForcedReplicas> forced_;
  std::shared_ptr<const ClusterHealth> health_;
  std::string zone_;
};

}  // namespace damper::proxy
