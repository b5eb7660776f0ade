#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/percent.h"
#include "damper/engine/event.h"
#include "damper/http/client/pool.h"
#include "damper/http/net/dialer.h"
#include "damper/proxy/config/health_check_options.h"
#include "damper/proxy/health/cluster_health.h"

namespace damper::proxy {

// What a HealthChecker checks: the replicas of one cluster.
struct CheckedCluster {
  struct Replica {
    http::Endpoint endpoint;
    std::string name;  // as loops and metrics call it
  };
  std::string name;
  HealthCheckOptions options{};
  std::vector<Replica> replicas{};
  http::DialerOptions dialer{};
  http::PoolOptions pool{};  // protocol and limits of a connection
  http::TlsClientOptions tls_options{};
  std::optional<http::TlsSettings> tls{};  // if an endpoint has https
  Percent panic_threshold = Percent(50);
  std::shared_ptr<ClusterHealth> health{};
};

// A HealthChecker probes the replicas of all clusters that have health_checks, and publishes the
// verdicts in their ClusterHealth.
//
// Why: with one for each loop, 64 loops would send 64 times the probes and disagree. Probes have
// connections, dialers and counts of their own: no breaker, budget, limit or latency of the traffic
// counts them.
// Model: a thread with a loop of its own, started with the first cluster that is checked. A
// ReplicaHealth says when a replica is probed. At most kMostProbes are in flight in the process;
// further ones wait in the order in which they became due, and their time counts from the start of
// the probe. When a verdict changes, an event is emitted and `changed` is called; loops then read
// the ClusterHealth.
// Events: replica_unhealthy with the reason of the last probe, replica_healthy after `length`;
// health_checks_ignored when less than panic_threshold of the cluster's replicas is healthy, and
// health_checks_used when that is over.
// Invariants:
//   (1) One probe of a replica at a time, and at most kMostProbes.
//   (2) A replica that stays in use() keeps its state, also when its options change; a verdict on
//       one that was removed is forgotten.
//   (3) `changed` is not called after the destructor has returned.
// Thread safety: use() may be called by any thread but its own, one call at a time. `changed` is
// called on its own thread, without a lock.
class HealthChecker {
 public:
  static constexpr std::size_t kMostProbes = 64;
  using Changed = std::function<void(const std::string& cluster)>;

  // `events` outlives it; nullptr: none.
  HealthChecker(engine::EventSink* events, Changed changed);
  ~HealthChecker();
  HealthChecker(const HealthChecker&) = delete;
  HealthChecker& operator=(const HealthChecker&) = delete;

  // Checks these from now on, and no others.
  void use(std::vector<CheckedCluster> clusters);

 private:
  class Running;  // the thread and what it owns

  engine::EventSink* const events_;
  const Changed changed_;
  std::unique_ptr<Running> running_;
};

}  // namespace damper::proxy
