#include "damper/proxy/data/worker.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/server.h"
#include "damper/proxy/data/gate.h"
#include "damper/proxy/request/access_log.h"
#include "damper/proxy/request/access_metrics.h"
#include "damper/proxy/request/passage_sink.h"

namespace damper::proxy {
namespace {

// How often it is looked whether what nobody needs any more is still in use, and how often what the
// loop looks like is published.
constexpr Duration kLook = std::chrono::milliseconds(100);
constexpr Duration kPublish = std::chrono::seconds(1);

}  // namespace

class Worker::OnLoop final {
 public:
  OnLoop(std::size_t number, const UpstreamNames& names, observe::Registry& registry)
      : look_(*this), number_(number), names_(names), metrics_(registry), work_(loop) {}
  // Its destructor runs when the loop does no more, and after clear().
  ~OnLoop() { DAMPER_CHECK(listeners_.empty() && sink_ == nullptr); }

  [[nodiscard]] std::optional<std::string> use(const ProxyGeneration& generation);
  void look_at_names();
  void drain(Duration within, std::function<void()> done);
  [[nodiscard]] ProxyState describe();

  // What is under way is cancelled; then, when that turn is over, the rest.
  void close_servers() {
    listeners_.clear();
    draining_.clear();
  }
  void clear() {
    look_.cancel();
    sink_.reset();
    log_.reset();
    table_.reset();
    gates_.clear();
    upstreams_.clear();
    unneeded_gates_.clear();
    unneeded_upstreams_.clear();
  }

  http::Loop loop;

 private:
  friend class Worker;
  struct Listener {
    std::shared_ptr<ListenerSockets> sockets;  // whose duplicates the servers have
    std::vector<std::unique_ptr<http::Server>> servers;
  };
  struct KnownGate {
    http::AdmissionOptions options;
    std::shared_ptr<Gate> gate;
  };
  using Gates = std::map<std::shared_ptr<SharedGate>, KnownGate>;

  class Look final : public http::Loop::Timer {
   public:
    explicit Look(OnLoop& owner) : http::Loop::Timer(owner.loop), owner_(owner) {}

   private:
    void on_timer(Instant /*now*/) override { owner_.look_at_unneeded(); }
    OnLoop& owner_;
  };

  void look_at_unneeded();
  void use_log(const ProxyGeneration& generation);
  void use_clusters(const ProxyGeneration& generation);
  void use_routes(const ProxyGeneration& generation);
  [[nodiscard]] std::optional<std::string> use_listeners(const ProxyGeneration& generation);
  [[nodiscard]] std::optional<std::string> open(const ProxyGeneration::Listener& wanted,
                                                const http::ServerOptions& options);
  void drain_server(std::unique_ptr<http::Server> server, Duration within);
  void say_drained();
  void look_later() { look_.arm(std::min(look_.due(), add(loop.now(), kLook))); }

  Look look_;
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
  std::vector<std::shared_ptr<Gate>> unneeded_gates_;
  std::unique_ptr<PassageSink> sink_;
  std::vector<Listener> listeners_;  // as in the configuration
  std::vector<std::unique_ptr<http::Server>> draining_;
  std::vector<std::function<void()>> drained_;  // who waits for that
  mutable std::mutex mutex_;                    // for published_
  std::shared_ptr<const ProxyState> published_;
  http::Loop::Work work_;
};

std::optional<std::string> Worker::OnLoop::use(const ProxyGeneration& generation) {
  use_log(generation);
  use_clusters(generation);
  use_routes(generation);
  std::optional<std::string> error = use_listeners(generation);
  (void)describe();
  return error;
}

void Worker::OnLoop::use_log(const ProxyGeneration& generation) {
  const std::shared_ptr<const int> before = std::exchange(log_file_, generation.log);
  if (!log_) {
    log_.emplace(loop, *log_file_, generation.config->access_log, &metrics_);
  } else {
    log_->use(*log_file_);
    log_->set_mode(generation.config->access_log);
  }
}

void Worker::OnLoop::use_clusters(const ProxyGeneration& generation) {
  const std::shared_ptr<const Addresses> addresses = names_.current();
  std::map<std::string, std::shared_ptr<Upstream>> before = std::exchange(upstreams_, {});
  for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
    const ClusterConfig& config = generation.config->clusters[i];
    const Upstream::Setting setting{.config = config,
                                    .tls = generation.client_tls[i],
                                    .addresses = *addresses,
                                    .loops = generation.loops};
    const auto known = before.extract(config.name);
    if (known.empty()) {
      upstreams_[config.name] = std::make_shared<Upstream>(loop, setting);
    } else {
      known.mapped()->reload(setting);
      upstreams_[config.name] = known.mapped();
    }
  }
  for (auto& [name, upstream] : before) unneeded_upstreams_.push_back(std::move(upstream));
}

void Worker::OnLoop::use_routes(const ProxyGeneration& generation) {
  Gates before = std::exchange(gates_, {});
  std::vector<LoopRoute> routes;
  for (std::size_t i = 0; i < generation.routes.size(); ++i) {
    const RouteConfig& config = generation.config->routes[i];
    LoopRoute route{.config = &config,
                    .shared = generation.routes[i],
                    .upstream = upstreams_.at(config.cluster),
                    .gate = nullptr};
    if (const std::shared_ptr<SharedGate>& shared = generation.gates[i]; shared != nullptr) {
      const http::AdmissionOptions& options = *config.admission;
      auto known = before.extract(shared);
      route.gate = known.empty() ? std::make_shared<Gate>(loop, options, shared, number_)
                                 : known.mapped().gate;
      if (!known.empty() && known.mapped().options != options) route.gate->reload(options);
      gates_[shared] = {.options = options, .gate = route.gate};
    }
    routes.push_back(std::move(route));
  }
  for (auto& [shared, known] : before) unneeded_gates_.push_back(std::move(known.gate));
  table_ = std::make_shared<const LoopTable>(
      LoopTable{.config = generation.config,
                .matcher = RouteMatcher(generation.config->routes),
                .routes = std::move(routes)});
  if (sink_ == nullptr) {
    sink_ = std::make_unique<PassageSink>(loop, table_, *log_);
  } else {
    sink_->use(table_);
  }
  look_later();
}

std::optional<std::string> Worker::OnLoop::use_listeners(const ProxyGeneration& generation) {
  std::vector<Listener> before = std::exchange(listeners_, {});
  std::optional<std::string> error;
  for (std::size_t i = 0; i < generation.listeners.size(); ++i) {
    const ProxyGeneration::Listener& wanted = generation.listeners[i];
    const ListenerConfig& config = generation.config->listeners[i];
    http::ServerOptions options;
    options.address = config.address;
    options.port = config.port;
    options.max_connections = config.max_connections;
    options.places = wanted.places;
    options.tls = wanted.tls;
    options.limits = config.limits;
    const auto known = std::find_if(before.begin(), before.end(), [&](const Listener& one) {
      return one.sockets == wanted.sockets;
    });
    if (known != before.end()) {
      for (const auto& server : known->servers) server->use(options);
      listeners_.push_back(std::move(*known));
      before.erase(known);
    } else if (auto failed = open(wanted, options); failed && !error) {
      error = std::move(failed);
    }
  }
  for (Listener& gone : before) {
    for (auto& server : gone.servers) {
      drain_server(std::move(server), generation.config->drain_time);
    }
  }
  return error;
}

std::optional<std::string> Worker::OnLoop::open(const ProxyGeneration::Listener& wanted,
                                                const http::ServerOptions& options) {
  Listener& listener = listeners_.emplace_back();
  listener.sockets = wanted.sockets;
  std::optional<std::string> error;
  for (const int fd : wanted.sockets->take(number_)) {
    http::ServerOptions own = options;
    own.adopt_fd = fd;
    auto server = std::make_unique<http::Server>(loop, std::move(own), *sink_, wanted.metrics);
    if (auto failed = server->listen()) {
      // Ours as well, or the kernel would hand connections to a socket that nobody accepts from.
      server.reset();
      wanted.sockets->give_up(number_);
      error = std::move(failed);
      continue;
    }
    listener.servers.push_back(std::move(server));
  }
  return error;
}

void Worker::OnLoop::drain_server(std::unique_ptr<http::Server> server, Duration within) {
  http::Server& draining = *server;
  draining_.push_back(std::move(server));
  draining.drain(within, [this, &draining] {
    std::erase_if(draining_, [&](const auto& one) { return one.get() == &draining; });
    if (draining_.empty()) say_drained();
  });
}

void Worker::OnLoop::drain(Duration within, std::function<void()> done) {
  drained_.push_back(std::move(done));
  for (Listener& listener : listeners_) {
    for (auto& server : std::exchange(listener.servers, {})) {
      drain_server(std::move(server), within);
    }
  }
  if (draining_.empty()) say_drained();
}

void Worker::OnLoop::say_drained() {
  for (const auto& done : std::exchange(drained_, {})) done();
}

void Worker::OnLoop::look_at_names() {
  const std::shared_ptr<const Addresses> addresses = names_.current();
  for (const auto& [name, upstream] : upstreams_) upstream->use(*addresses);
}

void Worker::OnLoop::look_at_unneeded() {
  std::erase_if(unneeded_upstreams_,
                [](const auto& one) { return one.use_count() == 1 && one->is_unused(); });
  std::erase_if(unneeded_gates_, [](const auto& one) { return one.use_count() == 1; });
  if (loop.now() >= publish_at_) (void)describe();
  look_.arm(publish_at_);
  if (!unneeded_upstreams_.empty() || !unneeded_gates_.empty()) look_later();
}

ProxyState Worker::OnLoop::describe() {
  ProxyState state;
  const Instant now = loop.now();
  state.requests_under_way = sink_->under_way();
  for (const ClusterConfig& cluster : table_->config->clusters) {
    ClusterState& one = state.clusters.emplace_back();
    one.name = cluster.name;
    upstreams_.at(cluster.name)->describe(one, now);
  }
  state.access_log_lines = log_->lines();
  state.access_log_dropped = log_->dropped();
  publish_at_ = add(now, kPublish);
  auto copy = std::make_shared<const ProxyState>(state);
  const std::lock_guard lock(mutex_);
  published_ = std::move(copy);
  return state;
}

// ---- From outside ----------------------------------------------------------------------------

Worker::Worker(std::size_t number, const UpstreamNames& names, observe::Registry& registry)
    : on_loop_(std::make_unique<OnLoop>(number, names, registry)),
      thread_([this] { on_loop_->loop.run(); }) {}

void Worker::end() {
  if (std::exchange(ended_, true)) return;
  run([this] { on_loop_->close_servers(); });
  run([this] { on_loop_->clear(); });
}

Worker::~Worker() {
  end();
  on_loop_->loop.stop();
  thread_.join();
}

void Worker::run(const std::function<void()>& work) {
  std::promise<void> done;
  on_loop_->loop.post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void Worker::post(std::function<void()> work) { on_loop_->loop.post(std::move(work)); }

std::shared_ptr<const ProxyState> Worker::published() const {
  const std::lock_guard lock(on_loop_->mutex_);
  return on_loop_->published_;
}

std::optional<std::string> Worker::use(const ProxyGeneration& generation) {
  return on_loop_->use(generation);
}
void Worker::look_at_names() { on_loop_->look_at_names(); }
void Worker::drain(Duration within, std::function<void()> done) {
  on_loop_->drain(within, std::move(done));
}
ProxyState Worker::describe() { return on_loop_->describe(); }

std::map<std::string, std::shared_ptr<const http::ClientMetrics>> Worker::metrics() const {
  std::map<std::string, std::shared_ptr<const http::ClientMetrics>> all;
  for (const auto& [name, upstream] : on_loop_->upstreams_) all[name] = upstream->metrics();
  return all;
}

}  // namespace damper::proxy
