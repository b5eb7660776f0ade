#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/server.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/proxy_state.h"
#include "damper/proxy/data/proxy_view.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/data/upstream_names.h"
#include "damper/proxy/request/access_log.h"
#include "damper/proxy/request/access_metrics.h"
#include "damper/proxy/request/proxied_request.h"

namespace damper::proxy {

// A Worker is one loop of the proxy, on a thread of its own: its servers, the requests on it, and
// the clusters and gates as it sees them.
//
// Model: everything happens on its thread, handed over with run(); nothing is shared with the other
// loops but what a ProxyGeneration has: a listener's places for connections and a route's gate are
// of all loops together. A pool's bounds are divided by the loops, see Upstream.
// A listener that stays keeps its connections; one that goes drains within the configuration's
// drain_time. Upstreams and gates that nobody needs any more are looked at now and then, and go
// when nothing of them is in use: never from within a call.
// Once a second it publishes what it looks like: a scrape, which holds the registry's lock, must
// not wait for a loop that may want it.
// Thread safety: run(), post() and published() may be called by any thread; the others only on its
// own.
class Worker {
 public:
  // What is referred to outlives it. Its loop runs from here on.
  Worker(std::size_t number, const UpstreamNames& names, observe::Registry& registry);
  // After end(), which it calls unless that was done.
  ~Worker();
  // Ends at once what is under way. Workers that share a generation all end before the first of
  // them goes: a gate may hand a place over to another loop until then.
  void end();

  // On its thread, and waits for it. REQUIRES: this is not a worker's thread.
  void run(const std::function<void()>& work);
  // The same without waiting.
  void post(std::function<void()> work);
  // What it described last, at most about a second ago; nullptr: nothing yet.
  [[nodiscard]] std::shared_ptr<const ProxyState> published() const;

  // ---- On its thread
  // Serves by this configuration from now on. One sentence: a socket could not be had after all. It
  // is closed then, and the others serve.
  [[nodiscard]] std::optional<std::string> use(const ProxyGeneration& generation);
  // The names' addresses may have changed.
  void look_at_names();
  // No new connections; `done` is called when there are none left, at the latest after `within`.
  // A second one waits for the same, however long the first said.
  void drain(Duration within, std::function<void()> done);
  // What it looks like, which is published too; vectors as in the configuration in use.
  [[nodiscard]] ProxyState describe();
  // By cluster.
  [[nodiscard]] LoopMetrics metrics() const;

 private:
  struct Listener {
    std::shared_ptr<ListenerSockets> sockets;  // whose duplicates the servers have
    std::vector<std::unique_ptr<http::Server>> servers;
  };
  struct KnownAdmission {
    http::AdmissionOptions options;
    std::shared_ptr<RouteAdmission> admission;
  };
  using Gates = std::map<std::shared_ptr<SharedAdmission>, KnownAdmission>;

  void look_at_unneeded(Instant now);
  void look_later();
  void use_log(const ProxyGeneration& generation);
  void use_clusters(const ProxyGeneration& generation);
  void use_routes(const ProxyGeneration& generation);
  [[nodiscard]] std::optional<std::string> use_listeners(const ProxyGeneration& generation);
  [[nodiscard]] std::optional<std::string> open(const ProxyGeneration::Listener& wanted,
                                                const http::ServerOptions& options);
  void drain_server(std::unique_ptr<http::Server> server, Duration within);
  void say_drained();

  http::Loop loop_;
  http::Loop::MemberTimer<Worker> look_;
  Instant publish_at_{};
  const std::size_t number_;
  const UpstreamNames& names_;
  AccessMetrics metrics_;
  std::shared_ptr<const int> log_file_;
  std::optional<AccessLogWriter> log_;
  std::shared_ptr<const LoopTable> table_;
  std::map<std::string, std::shared_ptr<Upstream>> upstreams_;  // by the cluster's name
  Gates gates_;
  std::vector<std::shared_ptr<Upstream>> unneeded_upstreams_;
  std::vector<std::shared_ptr<RouteAdmission>> unneeded_gates_;
  std::unique_ptr<RequestFactory> sink_;
  std::vector<Listener> listeners_;  // as in the configuration
  std::vector<std::unique_ptr<http::Server>> draining_;
  std::vector<std::function<void()>> drained_;  // called when draining_ is empty
  mutable std::mutex mutex_;                    // for published_
  std::shared_ptr<const ProxyState> published_;
  http::Loop::Work work_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace damper::proxy
