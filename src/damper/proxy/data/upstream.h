#ifndef DAMPER_PROXY_DATA_UPSTREAM_H_
#define DAMPER_PROXY_DATA_UPSTREAM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/http/client/client_metrics.h"
#include "damper/http/client/pool.h"
#include "damper/http/client/replicas.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/tls_settings.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// The addresses of the names that clusters have for endpoints: see upstream_names.h.
using Addresses = std::map<std::string, std::vector<std::string>>;

// A share of what is said of all loops together, rounded up: loops * share >= all.
[[nodiscard]] constexpr std::size_t share_of(std::size_t all, std::size_t loops) noexcept {
  return all / loops + (all % loops == 0 ? 0 : 1);
}

// An Upstream is a cluster as one loop sees it: its replicas and a pool for each.
//
// Model: an endpoint that is a name stands for as many replicas as it has addresses. Who looks the
// names up says so with use(). A replica that goes away gets no new attempts, its idle connections
// close, and those under way end as they would. A reload keeps the pools, breakers and latencies of
// the replicas that stay; when what concerns connections has changed (pool, dialer, TLS, protocol)
// they get new pools and keep breaker and latency. The pools' bounds are of all loops together:
// each loop has its share of them, rounded up. They are not one count: a loop that found it used up
// would wait for connections that lie idle on another loop, where nobody can lend them to it.
// Invariants:
//   (1) A pool is destroyed only when no Place refers to it and it is unused, and never from within
//       a call of one of its users.
//   (2) At most kMostReplicas; addresses beyond are counted as left out, and tried again while
//       there are any: those that went away keep their numbers while they are used.
// Thread safety: none; one loop. The ClientMetrics may be read by any thread.
class Upstream final : private http::Loop::Timer {
  class Host;

 public:
  // `tls`: if an endpoint has https. What is referred to outlives it.
  struct Setting {
    const ClusterConfig& config;
    const std::optional<http::TlsSettings>& tls;
    const Addresses& addresses;
    std::uint32_t loops = 1;
  };
  Upstream(http::Loop& loop, const Setting& setting);
  ~Upstream() override;

  // One attempt's place on one replica, until settle().
  struct Place {
    http::Pool* pool = nullptr;                           // nullptr: none, no address is known
    http::CloseReason why = http::CloseReason::finished;  // if there is none
    std::size_t replica = 0;  // its number, in a ReplicaSet of those that a call has tried
    http::Replicas::Lease lease{};
    Host* host = nullptr;
  };
  [[nodiscard]] Place pick(const http::ReplicaSet& excluded, Instant now, double draw);
  // For one more attempt of a call: see Replicas::pick_next().
  [[nodiscard]] Place pick_next(http::ReplicaSet& tried, const http::ReplicaSet& asking,
                                Instant now, double draw);
  // The answer's head is there: what the replica's latency is (not how slowly a client reads).
  void on_head(Place& place, Instant now) { replicas_.on_head(place.lease, now); }
  // The attempt is over. Once for each place that has a pool; nothing happens to an empty one. The
  // pool is not to be used after it.
  void settle(Place& place, decide::Outcome outcome, Instant now, double draw);

  // REQUIRES: the cluster's name is the same.
  void reload(const Setting& setting);
  // The names' addresses have changed, perhaps.
  void use(const Addresses& addresses);
  // Whether none of its connections is in use: it may be destroyed, not from within a call.
  [[nodiscard]] bool is_unused() const noexcept;

  // What it looks like now, added to what other loops have said.
  void describe(ClusterState& state, Instant now) const;
  [[nodiscard]] std::shared_ptr<const http::ClientMetrics> metrics() const noexcept {
    return metrics_;
  }

 private:
  struct Parts;  // what pools have in common

  [[nodiscard]] Place place_of(const http::Replicas::Lease& lease);
  void on_timer(Instant now) override;
  void settle_hosts(const Addresses& addresses);
  [[nodiscard]] std::unique_ptr<Host> make_host(const http::Endpoint& endpoint) const;
  void retire_host(std::unique_ptr<Host> host);
  void look_later();

  ClusterConfig config_;
  Addresses addresses_;  // while some are left out
  std::uint32_t loops_;
  const std::shared_ptr<http::ClientMetrics> metrics_;
  std::shared_ptr<Parts> parts_;
  http::Replicas replicas_;
  std::vector<std::unique_ptr<Host>> hosts_;    // by number; nullptr: there is none
  std::vector<std::unique_ptr<Host>> retired_;  // that are still used
  std::size_t left_out_ = 0;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_UPSTREAM_H_
