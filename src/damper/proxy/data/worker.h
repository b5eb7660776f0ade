#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/server.h"
#include "damper/observe/registry.h"
#include "damper/proxy/config/trust.h"
#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/proxy_state.h"
#include "damper/proxy/data/proxy_view.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/log/access_log.h"
#include "damper/proxy/log/access_metrics.h"
#include "damper/proxy/names/upstream_names.h"
#include "damper/proxy/request/proxied_request.h"

namespace damper::proxy {

// A Worker is one loop of the proxy, on a thread of its own: its servers, the requests on it, and
// the clusters and gates as it sees them.
//
// Model: everything happens on its thread, handed over with run(); nothing is shared with the other
// loops but what a ProxyGeneration has: a listener's quota of connections and a route's gate are
// of all loops together. A pool's bounds are divided by the loops, see Upstream.
// A listener that stays keeps its connections; one that goes drains within the configuration's
// drain_time. Upstreams and gates without a route are destroyed periodically, once they are not in
// use: never from within a call.
// Once a second it publishes what it looks like: a scrape, which holds the registry's lock, must
// not wait for a loop that may want it.
// Thread safety: run(), post() and published() may be called by any thread; the others only on its
// own.
class Worker {
 public:
  // What is referred to outlives it. Its loop runs from here on.
  Worker(std::size_t number, const UpstreamNames& names, observe::Registry& registry)
      : look_(loop_, *this, &Worker::look_at_unneeded),
        number_(number),
        names_(names),
        metrics_(registry),
        work_(loop_),
        thread_([this] { loop_.run(); }) {}
  // After end(), which it calls unless that was done.
  ~Worker() {
    end();
    loop_.stop();
    thread_.join();
  }
  // Ends at once what is under way. Workers that share a generation all end before the first of
  // them goes: a gate may hand a place over to another loop until then.
  // What is under way is cancelled; then, when that turn is over, the rest.
  void end() {
    if (std::exchange(ended_, true)) return;
    run([this] {
      listeners_.clear();
      draining_.clear();
    });
    run([this] {
      look_.cancel();
      sink_.reset();
      log_.reset();
      table_.reset();
      gates_.clear();
      upstreams_.clear();
      unneeded_gates_.clear();
      unneeded_upstreams_.clear();
    });
  }

  // On its thread, and waits for it. REQUIRES: this is not a worker's thread.
  void run(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // The same without waiting.
  void post(std::function<void()> work) { loop_.post(std::move(work)); }
  // What it described last, at most about a second ago; nullptr: nothing yet.
  [[nodiscard]] std::shared_ptr<const ProxyState> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }

  // ---- On its thread
  // Serves by this configuration from now on. One sentence: a socket could not be had after all. It
  // is closed then, and the others serve.
  [[nodiscard]] std::optional<std::string> use(const ProxyGeneration& generation) {
    use_log(generation);
    use_clusters(generation);
    use_routes(generation);
    std::optional<std::string> error = use_listeners(generation);
    (void)describe();
    return error;
  }
  // Uses the TLS settings of this copy of the generation in use, for connections from now on.
  void use_tls(const ProxyGeneration& generation) {
    for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
      if (!generation.client_tls[i]) continue;
      upstreams_.at(generation.config->clusters[i].name)->use_tls(*generation.client_tls[i]);
    }
    for (std::size_t i = 0; i < generation.listeners.size() && i < listeners_.size(); ++i) {
      for (const auto& server : listeners_[i].servers) server->use_tls(generation.listeners[i].tls);
    }
  }
  // The names' addresses may have changed.
  void look_at_names() {
    const std::shared_ptr<const Addresses> addresses = names_.current();
    for (const auto& [name, upstream] : upstreams_) upstream->use(*addresses);
  }
  // What an operator holds for a replica of a cluster has changed.
  void look_at_forced(const std::string& cluster, const std::string& replica) {
    const auto found = upstreams_.find(cluster);
    if (found == upstreams_.end()) return;
    found->second->look_at_forced(replica);
    (void)describe();
  }
  // Verdicts of a cluster's health checks have changed.
  void look_at_health(const std::string& cluster) {
    const auto found = upstreams_.find(cluster);
    if (found != upstreams_.end()) found->second->look_at_health();
  }
  // Health pages report from now on that the process drains.
  void announce_drain() { sink_->set_draining(); }
  // No new connections; `done` is called when there are none left, at the latest after `within`.
  // A second one waits for the same, however long the first said.
  void drain(Duration within, std::function<void()> done) {
    drained_.push_back(std::move(done));
    announce_drain();
    for (Listener& listener : listeners_) {
      for (auto& server : std::exchange(listener.servers, {})) {
        drain_server(listener.sink, std::move(server), within);
      }
    }
    if (draining_.empty()) say_drained();
  }
  // What it looks like, which is published too; vectors as in the configuration in use.
  [[nodiscard]] ProxyState describe() {
    ProxyState state;
    const Instant now = loop_.now();
    state.requests_under_way = sink_->under_way();
    for (const ClusterConfig& cluster : table_->config->clusters) {
      ClusterState& one = state.clusters.emplace_back();
      one.name = cluster.name;
      upstreams_.at(cluster.name)->describe(one, now);
    }
    state.access_log_lines = log_->lines();
    state.access_log_dropped = log_->dropped();
    state.access_log_suppressed = log_->suppressed();
    publish_at_ = add(now, kPublish);
    auto copy = std::make_shared<const ProxyState>(state);
    const std::lock_guard lock(mutex_);
    published_ = std::move(copy);
    return state;
  }
  // By cluster.
  [[nodiscard]] LoopMetrics metrics() const {
    LoopMetrics all;
    for (const auto& [name, upstream] : upstreams_) all[name] = upstream->metrics();
    return all;
  }

 private:
  // Interval of checks whether unneeded parts are still in use, and of publishing.
  static constexpr Duration kLook = std::chrono::milliseconds(100);
  static constexpr Duration kPublish = std::chrono::seconds(1);

  struct Listener {
    std::shared_ptr<ListenerSockets> sockets;  // whose duplicates the servers have
    std::shared_ptr<ListenerSink> sink;        // outlives the servers
    std::vector<std::unique_ptr<http::Server>> servers;
  };
  struct DrainingServer {
    std::shared_ptr<ListenerSink> sink;
    std::unique_ptr<http::Server> server;
  };
  struct KnownAdmission {
    http::AdmissionOptions options;
    std::shared_ptr<RouteAdmission> admission;
  };
  using Gates = std::map<std::shared_ptr<SharedAdmission>, KnownAdmission>;

  void look_at_unneeded(Instant now) {
    std::erase_if(unneeded_upstreams_,
                  [](const auto& one) { return one.use_count() == 1 && one->is_unused(); });
    std::erase_if(unneeded_gates_, [](const auto& one) { return one.use_count() == 1; });
    if (now >= publish_at_) (void)describe();
    look_.arm(publish_at_);
    if (!unneeded_upstreams_.empty() || !unneeded_gates_.empty()) look_later();
  }
  void look_later() { look_.arm(std::min(look_.due(), add(loop_.now(), kLook))); }
  void use_log(const ProxyGeneration& generation) {
    const std::shared_ptr<const int> before = std::exchange(log_file_, generation.log);
    if (!log_) {
      log_.emplace(loop_, *log_file_, generation.config->access_log, &metrics_);
    } else {
      log_->use(*log_file_);
      log_->set_mode(generation.config->access_log);
    }
    log_->set_layout(generation.config->access_layout);
  }
  void use_clusters(const ProxyGeneration& generation) {
    const std::shared_ptr<const Addresses> addresses = names_.current();
    std::map<std::string, std::shared_ptr<Upstream>> before = std::exchange(upstreams_, {});
    for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
      const ClusterConfig& config = generation.config->clusters[i];
      const Upstream::Setting setting{.config = config,
                                      .tls = generation.client_tls[i],
                                      .addresses = *addresses,
                                      .loops = generation.loops,
                                      .held = generation.held,
                                      .forced = generation.clusters[i]->forced(),
                                      .health = generation.clusters[i]->health(),
                                      .zone = generation.config->zone};
      const auto known = before.extract(config.name);
      if (known.empty()) {
        upstreams_[config.name] = std::make_shared<Upstream>(loop_, setting);
      } else {
        known.mapped()->reload(setting);
        upstreams_[config.name] = known.mapped();
      }
    }
    for (auto& [name, upstream] : before) unneeded_upstreams_.push_back(std::move(upstream));
  }
  void use_routes(const ProxyGeneration& generation) {
    Gates before = std::exchange(gates_, {});
    std::vector<LoopRoute> routes;
    std::size_t next = 0;
    for (const RouteConfig& config : generation.config->routes) {
      if (config.weighted_clusters.empty()) {
        routes.push_back(make_route(generation, next++, before));
        continue;
      }
      auto split = std::make_shared<LoopSplit>(
          LoopSplit{.weights = WeightedSplit(config.weighted_clusters), .clusters = {}});
      for (std::size_t i = 0; i < config.weighted_clusters.size(); ++i) {
        split->clusters.push_back(make_route(generation, next++, before));
      }
      routes.push_back(split->clusters.front());
      routes.back().split = std::move(split);
    }
    for (auto& [shared, known] : before) unneeded_gates_.push_back(std::move(known.admission));
    use_tracing(generation);
    table_ = std::make_shared<const LoopTable>(
        LoopTable{.config = generation.config,
                  .matcher = RouteMatcher(generation.config->routes),
                  .routes = std::move(routes),
                  .tracer = tracer_,
                  .kept = generation.kept});
    if (sink_ == nullptr) {
      sink_ = std::make_unique<RequestFactory>(loop_, table_, *log_);
    } else {
      sink_->use(table_);
    }
    look_later();
  }
  // The route of that position in generation.routes.
  [[nodiscard]] LoopRoute make_route(const ProxyGeneration& generation, std::size_t at,
                                     Gates& before) {
    const RouteConfig& config = *generation.route_configs[at];
    const std::shared_ptr<SharedRoute>& shared = generation.routes[at];
    LoopRoute route{
        .config = &config,
        .shared = shared,
        .upstream = config.forwards() ? upstreams_.at(shared->cluster().name()) : nullptr,
        .admission = nullptr,
        .client_rates = generation.client_rates[at]};
    if (config.health_page) {
      for (const std::string& cluster : config.health_page->clusters) {
        route.watched.push_back(upstreams_.at(cluster));
      }
    }
    if (const std::shared_ptr<SharedAdmission>& gate = generation.gates[at]; gate != nullptr) {
      const http::AdmissionOptions& options = *config.admission;
      auto known = before.extract(gate);
      route.admission = known.empty()
                            ? std::make_shared<RouteAdmission>(loop_, options, gate, number_)
                            : known.mapped().admission;
      if (!known.empty() && known.mapped().options != options) route.admission->reload(options);
      gates_[gate] = {.options = options, .admission = route.admission};
    }
    return route;
  }
  // The exporter in use is alive until the next one is: equal addresses are the same exporter.
  void use_tracing(const ProxyGeneration& generation) {
    if (exporter_ == generation.tracing.get()) return;
    exporter_ = generation.tracing.get();
    tracer_ = exporter_ == nullptr ? nullptr : generation.tracing->make_tracer();
  }
  [[nodiscard]] std::optional<std::string> use_listeners(const ProxyGeneration& generation) {
    std::vector<Listener> before = std::exchange(listeners_, {});
    std::optional<std::string> error;
    for (std::size_t i = 0; i < generation.listeners.size(); ++i) {
      const ProxyGeneration::Listener& wanted = generation.listeners[i];
      const ListenerConfig& config = generation.config->listeners[i];
      http::ServerOptions options;
      options.address = config.address;
      options.port = config.port;
      options.max_connections = config.max_connections;
      options.quota = wanted.quota;
      options.clients = wanted.clients;
      options.proxy_protocol = peers_of(config.proxy_protocol);
      options.tls = wanted.tls;
      options.protocol = config.protocol;
      options.limits = config.limits;
      const auto known = std::find_if(before.begin(), before.end(), [&](const Listener& one) {
        return one.sockets == wanted.sockets;
      });
      if (known != before.end()) {
        for (const auto& server : known->servers) server->use(options);
        known->sink->use(wanted.rules);
        listeners_.push_back(std::move(*known));
        before.erase(known);
      } else if (auto failed = open(wanted, options); failed && !error) {
        error = std::move(failed);
      }
    }
    for (Listener& gone : before) {
      for (auto& server : gone.servers) {
        drain_server(gone.sink, std::move(server), generation.config->drain_time);
      }
    }
    return error;
  }
  [[nodiscard]] std::optional<std::string> open(const ProxyGeneration::Listener& wanted,
                                                const http::ServerOptions& options) {
    Listener& listener = listeners_.emplace_back();
    listener.sockets = wanted.sockets;
    listener.sink = std::make_shared<ListenerSink>(*sink_, wanted.rules);
    std::optional<std::string> error;
    for (const int fd : wanted.sockets->take(number_)) {
      http::ServerOptions own = options;
      own.adopt_fd = fd;
      auto server =
          std::make_unique<http::Server>(loop_, std::move(own), *listener.sink, wanted.metrics);
      if (auto failed = server->listen()) {
        // Ours as well, or the kernel would hand connections to a socket without a reader.
        server.reset();
        wanted.sockets->give_up(number_);
        error = std::move(failed);
        continue;
      }
      listener.servers.push_back(std::move(server));
    }
    return error;
  }
  void drain_server(std::shared_ptr<ListenerSink> sink, std::unique_ptr<http::Server> server,
                    Duration within) {
    http::Server& draining = *server;
    draining_.push_back({std::move(sink), std::move(server)});
    draining.drain(within, [this, &draining] {
      std::erase_if(draining_, [&](const auto& one) { return one.server.get() == &draining; });
      if (draining_.empty()) say_drained();
    });
  }
  void say_drained() {
    for (const auto& done : std::exchange(drained_, {})) done();
  }

  http::Loop loop_;
  http::Loop::MemberTimer<Worker> look_;
  Instant publish_at_{};
  const std::size_t number_;
  const UpstreamNames& names_;
  AccessMetrics metrics_;
  std::shared_ptr<const int> log_file_;
  std::optional<AccessLogWriter> log_;
  const http::TraceExporter* exporter_ = nullptr;  // of tracer_; compared alone
  std::shared_ptr<observe::Tracer> tracer_;
  std::shared_ptr<const LoopTable> table_;
  std::map<std::string, std::shared_ptr<Upstream>> upstreams_;  // by the cluster's name
  Gates gates_;
  std::vector<std::shared_ptr<Upstream>> unneeded_upstreams_;
  std::vector<std::shared_ptr<RouteAdmission>> unneeded_gates_;
  std::unique_ptr<RequestFactory> sink_;
  std::vector<Listener> listeners_;  // as in the configuration
  std::vector<DrainingServer> draining_;
  std::vector<std::function<void()>> drained_;  // called when draining_ is empty
  mutable std::mutex mutex_;                    // for published_
  std::shared_ptr<const ProxyState> published_;
  http::Loop::Work work_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace damper::proxy
