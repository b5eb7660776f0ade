#include "damper/proxy/data/proxy.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/client/url.h"
#include "damper/observe/process_event.h"
#include "damper/proxy/data/checked_clusters.h"
#include "damper/proxy/data/latch.h"
#include "damper/proxy/data/worker.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

constexpr std::uint32_t kMostLoops = SharedAdmission::kMostLoops;
constexpr Duration kNameTimeout = std::chrono::seconds(1);   // of a first lookup, then it continues
constexpr Duration kLoopTimeout = std::chrono::seconds(1);   // of a loop's answer
constexpr Duration kTraceDrain = std::chrono::seconds(2);    // of spans at the end
constexpr std::size_t kMostSeries = std::size_t{20} * 1000;  // 1000 routes and some

std::uint32_t loops_of(const ProxyConfig& config) {
  const std::uint32_t asked =
      config.threads != 0 ? config.threads : std::thread::hardware_concurrency();
  return std::clamp(asked, std::uint32_t{1}, kMostLoops);
}

// Of each route, and of each of its weighted clusters.
std::vector<SwitchScope> route_scopes(const ProxyGeneration& generation) {
  std::vector<SwitchScope> scopes;
  scopes.reserve(generation.routes.size());
  for (const auto& route : generation.routes) scopes.push_back(SwitchScope::route(route->name()));
  return scopes;
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(run::wall_time().time_since_epoch())
      .count();
}

}  // namespace

Proxy::Proxy(const ProxyConfig& config, const ProxyOptions& options)
    : loops_(loops_of(config)),
      events_(options.events),
      started_(run::now()),
      budget_(config.retry_budget.value_or(unlimited_budget())),
      registry_({.most_series = kMostSeries}),
      applied_(registry_.counter(kReloadsMetric, kReloadsHelp, {{"result", "applied"}})),
      refused_(registry_.counter(kReloadsMetric, kReloadsHelp, {{"result", "refused"}})),
      certificates_(registry_, options.events),
      checker_(events_, [this](const std::string& cluster) { on_health_changed(cluster); }),
      names_(options.resolver, events_, [this] { on_names_changed(); }) {}

Proxy::~Proxy() {
  collection_ = {};
  std::vector<std::unique_ptr<Worker>> workers;
  {
    const std::lock_guard lock(mutex_);
    workers.swap(workers_);
  }
  for (const auto& worker : workers) worker->end();  // All of them before the first is destroyed.
}

std::uint64_t Proxy::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

Proxy::Generation Proxy::in_force() const {
  const std::lock_guard lock(mutex_);
  return in_force_;
}

ProxyGeneration::Context Proxy::context(const Generation& current) {
  return {.budget = budget_, .events = events_, .loops = loops_, .in_force = current.get()};
}

std::optional<std::string> Proxy::begin(const ProxyConfig& config,
                                        const std::vector<InheritedSocket>& inherited) {
  auto first = ProxyGeneration::prepare(config, context(nullptr), inherited, run::now());
  if (!first) return first.error();
  if (auto error = (*first)->listen()) return error;
  names_.watch(names_in(config), kNameTimeout, config.dns_resolvers);
  std::vector<std::unique_ptr<Worker>> workers;
  try {
    for (std::uint32_t i = 0; i < loops_; ++i) {
      workers.push_back(std::make_unique<Worker>(i, names_, registry_));
    }
  } catch (const std::system_error& failed) {
    return std::string("cannot start a thread: ") + failed.what();
  }
  {
    const std::lock_guard lock(mutex_);
    workers_ = std::move(workers);
  }
  if (auto error = use(*first)) return error;
  for (const InheritedSocket& one : inherited) ::close(one.fd);
  for (const auto& listener : (*first)->listeners) listener.sockets->on_started();
  collection_ = registry_.collect([this](observe::Exposition& out) { write_metrics(out); });
  return std::nullopt;
}

// Makes every loop serve this generation. Steps that may fail have been done.
std::optional<std::string> Proxy::use(const Generation& next) {
  for (std::size_t i = 0; i < next->listeners.size(); ++i) {
    if (next->listeners[i].metrics != nullptr) continue;
    const std::string& name = next->config->listeners[i].name;
    auto& metrics = listener_metrics_[name];
    if (metrics == nullptr) metrics = std::make_unique<http::ServerMetrics>(registry_, name);
    next->listeners[i].metrics = metrics.get();
  }
  {
    const std::lock_guard lock(mutex_);
    restore_switches(*next);  // Before the first request, and again below for flips meanwhile.
  }
  std::vector<LoopMetrics> loop_metrics;
  std::optional<std::string> error;
  for (const auto& worker : workers_) {
    worker->run([&] {
      auto failed = worker->use(*next);
      if (failed && !error) error = std::move(failed);
      loop_metrics.push_back(worker->metrics());
    });
  }
  std::unique_lock lock(mutex_);
  restore_switches(*next);
  in_force_ = next;
  loop_metrics_ = std::move(loop_metrics);
  ++version_;
  lock.unlock();
  check_health();
  return error;
}

// Passes the replicas of the clusters with health_checks to the checker.
void Proxy::check_health() {
  const std::lock_guard one_at_a_time(checking_);
  const Generation current = in_force();
  if (current != nullptr) checker_.use(checked_clusters(*current, *names_.current()));
}

void Proxy::on_health_changed(const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_) {
    worker->post([on = worker.get(), cluster] { on->look_at_health(cluster); });
  }
}

// Applies the flips of each scope to the objects that have its name now. REQUIRES: mutex_ is held.
void Proxy::restore_switches(const ProxyGeneration& next) {
  const Instant now = run::now();
  const auto restore = [&](const SwitchScope& scope, admit::Switches& switches) {
    for (std::size_t i = 0; i < flips_.size(); ++i) {
      const Flip* const flip = flips_[i].find(scope);
      const auto which = static_cast<admit::Switch>(i);
      const bool off = flip != nullptr && flip->until > now;
      if (flip == nullptr || off == switches.snapshot(which, now).off) continue;
      switches.set(which, {.off = off, .until = flip->until, .reason = flip->reason});
    }
  };
  for (const auto& cluster : next.clusters) {
    restore(SwitchScope::cluster(cluster->name()), cluster->switches());
  }
  for (const auto& route : next.routes) {
    engine::Dependency& dependency = route->dependency();
    const SwitchScope scope = SwitchScope::route(route->name());
    restore(scope, dependency.switches());
    const HeldBreaker* const found = held_.find(scope);
    const bool is_held = found != nullptr && found->until > now;
    const HeldBreaker held = is_held ? *found : HeldBreaker{};  // Else it may be reset now.
    if (held.force == dependency.breaker().forced(now).force) continue;
    (void)dependency.breaker().force(held.setting(now), now);
  }
  held_.forget_expired(now);
  for (auto& flips : flips_) flips.forget_expired(now);
}

std::optional<std::string> Proxy::reload(const ProxyConfig& config) {
  const std::lock_guard one_at_a_time(reloading_);
  const auto refuse = [this](std::string why) {
    refused_.add();
    return why;
  };
  const Generation current = in_force();
  {
    const std::lock_guard lock(mutex_);
    if (draining_) return refuse("the proxy is draining");
  }
  const Instant now = run::now();
  auto next = ProxyGeneration::prepare(config, context(current), {}, now);
  if (!next) return refuse(next.error());
  // Resolve new names first: their routes work from the first request on.
  NameRules both = names_in(config);
  both.merge(names_in(*current->config));
  names_.watch(both, kNameTimeout, config.dns_resolvers);
  if (auto error = (*next)->listen()) {
    names_.watch(names_in(*current->config), Duration{0}, current->config->dns_resolvers);
    return refuse(*std::move(error));
  }
  (*next)->commit(context(current), now);
  // The reload is applied: a loop that fails emits an event, and the other loops continue.
  if (const std::optional<std::string> error = use(*next); error && events_ != nullptr) {
    events_->on_event({.kind = observe::ProcessEvent::listener_failed,
                       .key = "proxy",
                       .at = now,
                       .detail = *error});
  }
  if (current->tracing != nullptr && current->tracing != (*next)->tracing) {
    current->tracing->drain(kTraceDrain);
  }
  names_.watch(names_in(config), Duration{0}, config.dns_resolvers);
  applied_.add();
  return std::nullopt;
}

void Proxy::look_at_certificates() {
  const std::lock_guard one_at_a_time(reloading_);
  const Generation current = in_force();
  const Generation next = certificates_.look(*current, run::now(), unix_seconds());
  if (next == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (draining_) return;
  }
  for (const auto& worker : workers_) worker->run([&] { worker->use_tls(*next); });
  {
    const std::lock_guard lock(mutex_);
    in_force_ = next;
  }
  check_health();
}

void Proxy::on_names_changed() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& worker : workers_) {
      worker->post([on = worker.get()] { on->look_at_names(); });
    }
  }
  check_health();
}

void Proxy::announce_drain() {
  const std::lock_guard lock(mutex_);
  announced_ = true;
  for (const auto& worker : workers_) {
    worker->post([on = worker.get()] { on->announce_drain(); });
  }
}

void Proxy::drain(Duration within) {
  std::shared_ptr<Latch> left;
  {
    const std::lock_guard one_at_a_time(reloading_);
    const std::lock_guard lock(mutex_);
    draining_ = true;
    // Close ours first: the servers then hold the last descriptors and drain the accept queues.
    for (const auto& listener : in_force_->listeners) listener.sockets->close();
    left = std::make_shared<Latch>(workers_.size());
    for (const auto& worker : workers_) {
      worker->post(
          [on = worker.get(), within, left] { on->drain(within, [left] { left->count_down(); }); });
    }
  }
  left->wait_for(std::min(within, kLongest) + kLoopTimeout);
  if (const auto tracing = in_force()->tracing) tracing->drain(std::min(within, kTraceDrain));
}

// The part that needs no loop.
ProxyState Proxy::view(Generation& current, Instant now) const {
  std::unique_lock lock(mutex_);
  current = in_force_;
  const std::uint64_t version = version_;
  const bool draining = draining_ || announced_;
  lock.unlock();
  ProxyState state = view_of(*current, budget_, now);
  state.version = version;
  state.draining = draining;
  state.up = between(started_, now);
  return state;
}

// Called under the registry's lock, which a loop may wait for: it must not wait for a loop.
void Proxy::write_metrics(observe::Exposition& out) const {
  const Instant now = run::now();
  Generation current;
  ProxyState state = view(current, now);
  std::unique_lock lock(mutex_);
  const std::vector<LoopMetrics> loops = loop_metrics_;
  for (const auto& worker : workers_) {
    if (const auto loop = worker->published()) add_loop(state, *loop);
  }
  lock.unlock();
  proxy::write_metrics(*current, state, loops, now, out);
  names_.write_metrics(now, out);
  write_expiry(*current, unix_seconds(), out);
  if (current->tracing != nullptr) http::write_trace_metrics(current->tracing->counts(), out);
}

ProxyState Proxy::state() {
  std::vector<std::future<ProxyState>> answers;
  const Instant now = run::now();
  Generation current;
  ProxyState state = view(current, now);
  state.names = names_.describe(now);
  std::unique_lock lock(mutex_);
  for (const auto& worker : workers_) {
    const auto answer = std::make_shared<std::promise<ProxyState>>();
    answers.push_back(answer->get_future());
    worker->post([answer, on = worker.get()] { answer->set_value(on->describe()); });
  }
  lock.unlock();
  const auto until = run::steady_time(add(now, kLoopTimeout));
  for (auto& answer : answers) {
    if (answer.wait_until(until) == std::future_status::ready) add_loop(state, answer.get());
  }
  return state;
}

std::vector<InheritedSocket> Proxy::sockets() const {
  std::vector<InheritedSocket> all;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < in_force_->listeners.size(); ++i) {
    for (const int fd : in_force_->listeners[i].sockets->fds()) {
      const ListenerConfig& of = in_force_->config->listeners[i];
      const ListenerSockets& sockets = *in_force_->listeners[i].sockets;
      const bool elsewhere = http::UnixAddress::is_unix(of.address)
                                 ? !sockets.has_path()
                                 : of.port != 0 && of.port != sockets.port();
      all.push_back({.listener = of.name, .fd = fd, .any_port = elsewhere});
    }
  }
  return all;
}

void Proxy::keep_socket_files() {
  const std::lock_guard lock(mutex_);
  for (const auto& listener : in_force_->listeners) listener.sockets->keep_file();
}

std::uint16_t Proxy::port(std::string_view listener) const {
  const Generation current = in_force();
  for (std::size_t i = 0; i < current->listeners.size(); ++i) {
    if (current->config->listeners[i].name == listener) {
      return current->listeners[i].sockets->port();
    }
  }
  return 0;
}

std::vector<ScopeState> Proxy::switches() const { return scopes_of(*in_force(), run::now()); }

std::optional<std::string> Proxy::flip(const SwitchScope& scope, admit::Switch which,
                                       const admit::SwitchSetting& setting) {
  const Instant now = run::now();
  if (scope.kind == SwitchScope::Kind::process) {
    damper::switches().set(which, setting);
    engine::report_flip(events_, scope.text(), which, setting, now);
    return std::nullopt;
  }
  const bool is_route = scope.kind == SwitchScope::Kind::route;
  std::vector<std::shared_ptr<SharedRoute>> routes;
  std::shared_ptr<SharedCluster> cluster;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : in_force_->routes) {
      if (is_route && one->is_called(scope.name)) routes.push_back(one);
    }
    for (const auto& one : in_force_->clusters) {
      if (!is_route && one->name() == scope.name) cluster = one;
    }
    if (routes.empty() && cluster == nullptr) {
      return "there is no scope \"" + scope.text() + '"';
    }
    // Under the same lock as the lookup: the next reload restores it.
    flips_[static_cast<std::size_t>(which)].set(
        scope,
        {.until = setting.off ? setting.until : Instant::min(),
         .reason = std::string(setting.reason)},
        route_scopes(*in_force_));
  }
  for (const auto& route : routes) route->dependency().flip(which, setting, now);
  if (cluster == nullptr) return std::nullopt;
  cluster->switches().set(which, setting);
  engine::report_flip(events_, scope.text(), which, setting, now);
  return std::nullopt;
}

std::vector<ForcedBreaker> Proxy::forced() const { return forced_of(*in_force(), run::now()); }

std::optional<std::string> Proxy::force(const SwitchScope& scope, const std::string& replica,
                                        const admit::BreakerForceSetting& setting) {
  const Instant now = run::now();
  return replica.empty() ? force_routes(scope, setting, now)
                         : force_replica(scope, replica, setting, now);
}

std::optional<std::string> Proxy::force_routes(const SwitchScope& scope,
                                               const admit::BreakerForceSetting& setting,
                                               Instant now) {
  const bool is_route = scope.kind == SwitchScope::Kind::route;
  const std::lock_guard lock(mutex_);  // No reload restores what is reset here.
  bool found = false;
  bool forced = false;
  for (const auto& route : in_force_->routes) {
    engine::Dependency& dependency = route->dependency();
    if (is_route ? !route->is_called(scope.name) : route->cluster().name() != scope.name) continue;
    found = true;
    const bool resets = setting.force == admit::BreakerForce::none;
    // A reset also reaches a route that is held and has no breaker at present.
    const SwitchScope own = SwitchScope::route(route->name());
    const HeldBreaker* const held = held_.find(own);
    const bool was_held = held != nullptr && held->force != admit::BreakerForce::none;
    if (!dependency.force(setting, now) && !(resets && was_held)) continue;
    forced = true;
    held_.set(is_route ? scope : own, resets ? HeldBreaker{} : HeldBreaker::of(setting, now),
              route_scopes(*in_force_));
  }
  if (forced) return std::nullopt;
  if (!found) return "there is no scope " + text::in_quotes(scope.text());
  return (is_route ? "route " : "no route of cluster ") + text::in_quotes(scope.name) + " has " +
         (is_route ? "no" : "a") + " circuit_breaker";
}

std::optional<std::string> Proxy::force_replica(const SwitchScope& scope,
                                                const std::string& replica,
                                                const admit::BreakerForceSetting& setting,
                                                Instant now) {
  const std::lock_guard lock(mutex_);
  for (const auto& cluster : in_force_->clusters) {
    if (scope != SwitchScope::cluster(cluster->name())) continue;
    const auto known = find_replica(*cluster, replica);
    if (!known) return known.error();
    cluster->forced()->set(*known, setting, now);
    for (const auto& worker : workers_) {
      worker->post([on = worker.get(), name = scope.name, which = *known] {
        on->look_at_forced(name, which);
      });
    }
    engine::report_force(events_, scope.text() + '/' + *known, setting, now);
    return std::nullopt;
  }
  return "there is no scope " + text::in_quotes(scope.text());
}

// The replica as the loops call it: "http://10.0.0.7:80", or "http://NAME:80 10.0.0.7" for an
// address of a name. The scheme, or all but the address, may be left out. REQUIRES: mutex_ is held.
Expected<std::string> Proxy::find_replica(const SharedCluster& cluster,
                                          const std::string& text) const {
  std::set<std::string> known;
  for (const auto& [replica, held] : cluster.forced()->all()) known.insert(replica);
  for (const auto& worker : workers_) {
    const auto loop = worker->published();
    if (loop == nullptr) continue;
    for (const ClusterState& one : loop->clusters) {
      if (one.name != cluster.name()) continue;
      for (const ReplicaState& replica : one.replicas) known.insert(replica.endpoint);
    }
  }
  std::vector<std::string> fitting;
  for (const std::string& one : known) {
    if (one == text) return one;
    if (one.ends_with("://" + text) || one.ends_with(' ' + text)) fitting.push_back(one);
  }
  if (fitting.size() == 1) return fitting.front();
  const std::vector<std::string_view> all(known.begin(), known.end());
  return unexpected("cluster " + text::in_quotes(cluster.name()) +
                    (fitting.empty() ? " has no replica " : " has several replicas ") +
                    text::in_quotes(text) + " (there are: " + text::on_one_line(text::joined(all)) +
                    ")");
}

Expected<std::unique_ptr<Proxy>, std::string> Proxy::start(const ProxyConfig& config,
                                                           const ProxyOptions& options) {
  std::unique_ptr<Proxy> proxy(new Proxy(config, options));
  if (auto error = proxy->begin(config, options.inherited)) return unexpected(*std::move(error));
  return proxy;
}

}  // namespace damper::proxy
