#include "damper/proxy/data/worker.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

namespace damper::proxy {
namespace {

// How often it is looked whether what nobody needs any more is still in use, and how often what the
// loop looks like is published.
constexpr Duration kLook = std::chrono::milliseconds(100);
constexpr Duration kPublish = std::chrono::seconds(1);

}  // namespace

Worker::Worker(std::size_t number, const UpstreamNames& names, observe::Registry& registry)
    : look_(loop_, *this, &Worker::look_at_unneeded),
      number_(number),
      names_(names),
      metrics_(registry),
      work_(loop_),
      thread_([this] { loop_.run(); }) {}

// What is under way is cancelled; then, when that turn is over, the rest.
void Worker::end() {
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

Worker::~Worker() {
  end();
  loop_.stop();
  thread_.join();
}

void Worker::run(const std::function<void()>& work) {
  std::promise<void> done;
  loop_.post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void Worker::post(std::function<void()> work) { loop_.post(std::move(work)); }

std::shared_ptr<const ProxyState> Worker::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

LoopMetrics Worker::metrics() const {
  LoopMetrics all;
  for (const auto& [name, upstream] : upstreams_) all[name] = upstream->metrics();
  return all;
}

void Worker::look_later() { look_.arm(std::min(look_.due(), add(loop_.now(), kLook))); }

std::optional<std::string> Worker::use(const ProxyGeneration& generation) {
  use_log(generation);
  use_clusters(generation);
  use_routes(generation);
  std::optional<std::string> error = use_listeners(generation);
  (void)describe();
  return error;
}

void Worker::use_log(const ProxyGeneration& generation) {
  const std::shared_ptr<const int> before = std::exchange(log_file_, generation.log);
  if (!log_) {
    log_.emplace(loop_, *log_file_, generation.config->access_log, &metrics_);
  } else {
    log_->use(*log_file_);
    log_->set_mode(generation.config->access_log);
  }
}

void Worker::use_clusters(const ProxyGeneration& generation) {
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
      upstreams_[config.name] = std::make_shared<Upstream>(loop_, setting);
    } else {
      known.mapped()->reload(setting);
      upstreams_[config.name] = known.mapped();
    }
  }
  for (auto& [name, upstream] : before) unneeded_upstreams_.push_back(std::move(upstream));
}

void Worker::use_routes(const ProxyGeneration& generation) {
  Gates before = std::exchange(gates_, {});
  std::vector<LoopRoute> routes;
  for (std::size_t i = 0; i < generation.routes.size(); ++i) {
    const RouteConfig& config = generation.config->routes[i];
    LoopRoute route{.config = &config,
                    .shared = generation.routes[i],
                    .upstream = upstreams_.at(config.cluster),
                    .admission = nullptr};
    if (const std::shared_ptr<SharedAdmission>& shared = generation.gates[i]; shared != nullptr) {
      const http::AdmissionOptions& options = *config.admission;
      auto known = before.extract(shared);
      route.admission = known.empty()
                            ? std::make_shared<RouteAdmission>(loop_, options, shared, number_)
                            : known.mapped().admission;
      if (!known.empty() && known.mapped().options != options) route.admission->reload(options);
      gates_[shared] = {.options = options, .admission = route.admission};
    }
    routes.push_back(std::move(route));
  }
  for (auto& [shared, known] : before) unneeded_gates_.push_back(std::move(known.admission));
  table_ = std::make_shared<const LoopTable>(
      LoopTable{.config = generation.config,
                .matcher = RouteMatcher(generation.config->routes),
                .routes = std::move(routes)});
  if (sink_ == nullptr) {
    sink_ = std::make_unique<RequestFactory>(loop_, table_, *log_);
  } else {
    sink_->use(table_);
  }
  look_later();
}

std::optional<std::string> Worker::use_listeners(const ProxyGeneration& generation) {
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

std::optional<std::string> Worker::open(const ProxyGeneration::Listener& wanted,
                                        const http::ServerOptions& options) {
  Listener& listener = listeners_.emplace_back();
  listener.sockets = wanted.sockets;
  std::optional<std::string> error;
  for (const int fd : wanted.sockets->take(number_)) {
    http::ServerOptions own = options;
    own.adopt_fd = fd;
    auto server = std::make_unique<http::Server>(loop_, std::move(own), *sink_, wanted.metrics);
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

void Worker::drain_server(std::unique_ptr<http::Server> server, Duration within) {
  http::Server& draining = *server;
  draining_.push_back(std::move(server));
  draining.drain(within, [this, &draining] {
    std::erase_if(draining_, [&](const auto& one) { return one.get() == &draining; });
    if (draining_.empty()) say_drained();
  });
}

void Worker::drain(Duration within, std::function<void()> done) {
  drained_.push_back(std::move(done));
  for (Listener& listener : listeners_) {
    for (auto& server : std::exchange(listener.servers, {})) {
      drain_server(std::move(server), within);
    }
  }
  if (draining_.empty()) say_drained();
}

void Worker::say_drained() {
  for (const auto& done : std::exchange(drained_, {})) done();
}

void Worker::look_at_names() {
  const std::shared_ptr<const Addresses> addresses = names_.current();
  for (const auto& [name, upstream] : upstreams_) upstream->use(*addresses);
}

void Worker::look_at_unneeded(Instant now) {
  std::erase_if(unneeded_upstreams_,
                [](const auto& one) { return one.use_count() == 1 && one->is_unused(); });
  std::erase_if(unneeded_gates_, [](const auto& one) { return one.use_count() == 1; });
  if (now >= publish_at_) (void)describe();
  look_.arm(publish_at_);
  if (!unneeded_upstreams_.empty() || !unneeded_gates_.empty()) look_later();
}

ProxyState Worker::describe() {
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
  publish_at_ = add(now, kPublish);
  auto copy = std::make_shared<const ProxyState>(state);
  const std::lock_guard lock(mutex_);
  published_ = std::move(copy);
  return state;
}

}  // namespace damper::proxy
