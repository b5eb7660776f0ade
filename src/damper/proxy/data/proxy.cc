#include "damper/proxy/data/proxy.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "damper/http/client/url.h"
#include "damper/proxy/data/proxy_generation.h"
#include "damper/proxy/data/proxy_view.h"
#include "damper/proxy/data/upstream_names.h"
#include "damper/proxy/data/worker.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

constexpr std::uint32_t kMostLoops = SharedAdmission::kMostLoops;
constexpr Duration kNamePatience = std::chrono::seconds(1);  // for addresses, before it goes on
constexpr Duration kLoopPatience = std::chrono::seconds(1);  // for a loop's answer
constexpr std::size_t kMostSeries = std::size_t{20} * 1000;  // 1000 routes and some

std::uint32_t loops_of(const ProxyConfig& config) {
  const std::uint32_t asked =
      config.threads != 0 ? config.threads : std::thread::hardware_concurrency();
  return std::clamp(asked, std::uint32_t{1}, kMostLoops);
}

UpstreamNames::Names names_in(const ProxyConfig& config) {
  UpstreamNames::Names names;
  for (const ClusterConfig& cluster : config.clusters) {
    for (const std::string& text : cluster.endpoints) {
      const auto endpoint = http::parse_endpoint(text);
      if (!endpoint || http::is_address(endpoint->host)) continue;
      const auto [place, added] = names.try_emplace(endpoint->host, cluster.dns_refresh);
      if (!added) place->second = std::min(place->second, cluster.dns_refresh);
    }
  }
  return names;
}

bool has_scope(const ProxyGeneration& generation, std::string_view scope) {
  const auto is = [scope](std::string_view kind, const std::string& name) {
    return scope.starts_with(kind) && scope.substr(kind.size()) == name;
  };
  return std::any_of(generation.routes.begin(), generation.routes.end(),
                     [&](const auto& route) { return is("route/", route->dependency().name()); }) ||
         std::any_of(generation.clusters.begin(), generation.clusters.end(),
                     [&](const auto& cluster) { return is("cluster/", cluster->name()); });
}

// Counts down from any thread.
class Latch {
 public:
  explicit Latch(std::size_t count) : count_(count) {}
  void count_down() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void wait_for(Duration patience) {
    std::unique_lock lock(mutex_);
    zero_.wait_for(lock, patience, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  std::size_t count_;
};

class DataPlane final : public Proxy {
 public:
  DataPlane(const ProxyConfig& config, const ProxyOptions& options)
      : loops_(loops_of(config)),
        events_(options.events),
        budget_(config.retry_budget.value_or(unlimited_budget())),
        applied_(registry_.counter(kReloadsMetric, kReloadsHelp, {{"result", "applied"}})),
        refused_(registry_.counter(kReloadsMetric, kReloadsHelp, {{"result", "refused"}})),
        names_(options.resolver, [this] { on_names_changed(); }) {}

  ~DataPlane() override {
    collection_ = {};
    const std::vector<std::unique_ptr<Worker>> gone = take_workers();
    for (const auto& worker : gone) worker->end();  // All of them before the first one goes.
  }

  [[nodiscard]] std::optional<std::string> begin(const ProxyConfig& config,
                                                 const std::vector<InheritedSocket>& inherited);

  [[nodiscard]] std::optional<std::string> reload(const ProxyConfig& config) override;
  void drain(Duration within) override;
  [[nodiscard]] std::shared_ptr<const ProxyConfig> config() const override {
    return in_force()->config;
  }
  [[nodiscard]] std::uint64_t version() const override {
    const std::lock_guard lock(mutex_);
    return version_;
  }
  [[nodiscard]] ProxyState state() override;
  [[nodiscard]] observe::Registry& registry() override { return registry_; }
  [[nodiscard]] std::vector<InheritedSocket> sockets() const override;
  [[nodiscard]] std::uint16_t port(std::string_view listener) const override;
  [[nodiscard]] std::optional<std::string> flip(std::string_view scope, admit::Switch which,
                                                const admit::SwitchSetting& setting) override;
  [[nodiscard]] std::vector<ScopeState> switches() const override {
    return scopes_of(*in_force(), run::now());
  }

 private:
  using Generation = std::shared_ptr<ProxyGeneration>;
  struct Flip {
    Instant until = Instant::min();
    std::string reason;
  };
  using Flips = std::array<Flip, admit::kSwitchNames.size()>;

  [[nodiscard]] Generation in_force() const {
    const std::lock_guard lock(mutex_);
    return in_force_;
  }
  std::vector<std::unique_ptr<Worker>> take_workers() {
    const std::lock_guard lock(mutex_);
    return std::exchange(workers_, {});
  }
  [[nodiscard]] ProxyGeneration::Ground ground(const Generation& current) {
    return {.budget = budget_, .events = events_, .loops = loops_, .in_force = current.get()};
  }
  [[nodiscard]] std::optional<std::string> use(const Generation& next);
  void restore_switches(const ProxyGeneration& next);
  void write_metrics(observe::Exposition& out) const;
  void on_names_changed();
  void report_flip(std::string_view scope, admit::Switch which, const admit::SwitchSetting& setting,
                   Instant now) const;

  const std::uint32_t loops_;
  engine::EventSink* const events_;
  const Instant started_ = run::now();
  admit::RetryBudget budget_;
  observe::Registry registry_{{.most_series = kMostSeries}};
  observe::Counter& applied_;
  observe::Counter& refused_;
  std::map<std::string, std::unique_ptr<http::ServerMetrics>> listener_metrics_;
  std::mutex reloading_;      // one reload at a time
  mutable std::mutex mutex_;  // for what follows; never held while a loop is waited for
  Generation in_force_;
  std::uint64_t version_ = 0;
  std::map<std::string, Flips> flips_;  // by scope: what is off, also of those that are not there
  bool draining_ = false;
  std::vector<LoopMetrics> loop_metrics_;
  std::vector<std::unique_ptr<Worker>> workers_;
  UpstreamNames names_;  // outlives the workers, which the destructor ends first
  observe::Registry::Collection collection_;
};

std::optional<std::string> DataPlane::begin(const ProxyConfig& config,
                                            const std::vector<InheritedSocket>& inherited) {
  std::vector<ProxyGeneration::Inherited> sockets;
  sockets.reserve(inherited.size());
  for (const InheritedSocket& one : inherited) {
    sockets.push_back({one.listener, one.fd, one.any_port});
  }
  auto first = ProxyGeneration::prepare(config, ground(nullptr), sockets, run::now());
  if (!first) return first.error();
  if (auto error = (*first)->listen()) return error;
  names_.watch(names_in(config), kNamePatience);
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
  collection_ = registry_.collect([this](observe::Exposition& out) { write_metrics(out); });
  return std::nullopt;
}

// Has every loop serve by it. What can fail has been done.
std::optional<std::string> DataPlane::use(const Generation& next) {
  for (std::size_t i = 0; i < next->listeners.size(); ++i) {
    if (next->listeners[i].metrics != nullptr) continue;
    const std::string& name = next->config->listeners[i].name;
    auto& metrics = listener_metrics_[name];
    if (metrics == nullptr) metrics = std::make_unique<http::ServerMetrics>(registry_, name);
    next->listeners[i].metrics = metrics.get();
  }
  {
    const std::lock_guard lock(mutex_);
    restore_switches(*next);  // Before the first request; what is flipped meanwhile, below.
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
  const std::lock_guard lock(mutex_);
  restore_switches(*next);
  in_force_ = next;
  loop_metrics_ = std::move(loop_metrics);
  ++version_;
  return error;
}

// What an operator has turned off stays so for whatever has that name, whether it was moved, or was
// gone for a time. REQUIRES: mutex_ is held.
void DataPlane::restore_switches(const ProxyGeneration& next) {
  const Instant now = run::now();
  const auto restore = [&](const std::string& scope, admit::Switches& switches) {
    const auto found = flips_.find(scope);
    if (found == flips_.end()) return;
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const Flip& flip = found->second[i];
      const auto which = static_cast<admit::Switch>(i);
      const bool off = flip.until > now;
      if (off == switches.snapshot(which, now).off) continue;
      switches.set(which, {.off = off, .until = flip.until, .reason = flip.reason});
    }
  };
  for (const auto& cluster : next.clusters) {
    restore("cluster/" + cluster->name(), cluster->switches());
  }
  for (const auto& route : next.routes) {
    restore("route/" + route->dependency().name(), route->dependency().switches());
  }
  std::erase_if(flips_, [now](const auto& scope) {
    return std::all_of(scope.second.begin(), scope.second.end(),
                       [now](const Flip& flip) { return flip.until <= now; });
  });
}

std::optional<std::string> DataPlane::reload(const ProxyConfig& config) {
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
  auto next = ProxyGeneration::prepare(config, ground(current), {}, now);
  if (!next) return refuse(next.error());
  // Addresses of new names first: routes to them shall work from the beginning.
  UpstreamNames::Names both = names_in(config);
  both.merge(names_in(*current->config));
  names_.watch(both, kNamePatience);
  if (auto error = (*next)->listen()) {
    names_.watch(names_in(*current->config), Duration{0});
    return refuse(*std::move(error));
  }
  (*next)->commit(ground(current), now);
  // It has been applied: what one loop could not do is told, and does not undo what the others did.
  if (const std::optional<std::string> error = use(*next); error && events_ != nullptr) {
    events_->on_event({.kind = engine::EventKind::first_failure,
                       .key = "listener",
                       .at = now,
                       .count = 1,
                       .detail = *error});
  }
  names_.watch(names_in(config), Duration{0});
  applied_.add();
  return std::nullopt;
}

void DataPlane::on_names_changed() {
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_) {
    worker->post([on = worker.get()] { on->look_at_names(); });
  }
}

void DataPlane::drain(Duration within) {
  std::shared_ptr<Latch> left;
  {
    const std::lock_guard one_at_a_time(reloading_);
    const std::lock_guard lock(mutex_);
    draining_ = true;
    // Ours first: the servers' are the last ones then, and see who still waits in the queues.
    for (const auto& listener : in_force_->listeners) listener.sockets->close();
    left = std::make_shared<Latch>(workers_.size());
    for (const auto& worker : workers_) {
      worker->post(
          [on = worker.get(), within, left] { on->drain(within, [left] { left->count_down(); }); });
    }
  }
  left->wait_for(std::min(within, kLongest) + kLoopPatience);
}

// Under the registry's lock, which a loop may want: no loop is waited for.
void DataPlane::write_metrics(observe::Exposition& out) const {
  std::vector<std::shared_ptr<const ProxyState>> published;
  std::vector<LoopMetrics> loops;
  Generation current;
  std::uint64_t version = 0;
  bool draining = false;
  {
    const std::lock_guard lock(mutex_);
    current = in_force_;
    loops = loop_metrics_;
    version = version_;
    draining = draining_;
    for (const auto& worker : workers_) published.push_back(worker->published());
  }
  const Instant now = run::now();
  ProxyState state = view_of(*current, budget_, now);
  state.version = version;
  state.draining = draining;
  for (const auto& loop : published) {
    if (loop != nullptr) add_loop(state, *loop);
  }
  proxy::write_metrics(*current, state, loops, now, out);
}

ProxyState DataPlane::state() {
  using Answer = std::promise<ProxyState>;
  std::vector<std::future<ProxyState>> answers;
  Generation current;
  std::uint64_t version = 0;
  bool draining = false;
  const Instant now = run::now();
  {
    const std::lock_guard lock(mutex_);
    current = in_force_;
    version = version_;
    draining = draining_;
    for (const auto& worker : workers_) {
      const auto answer = std::make_shared<Answer>();
      answers.push_back(answer->get_future());
      worker->post([answer, on = worker.get()] { answer->set_value(on->describe()); });
    }
  }
  ProxyState state = view_of(*current, budget_, now);
  state.version = version;
  state.draining = draining;
  state.up = between(started_, now);
  const auto patience = run::steady_time(add(now, kLoopPatience));
  for (auto& answer : answers) {
    if (answer.wait_until(patience) == std::future_status::ready) add_loop(state, answer.get());
  }
  return state;
}

std::vector<InheritedSocket> DataPlane::sockets() const {
  std::vector<InheritedSocket> all;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < in_force_->listeners.size(); ++i) {
    for (const int fd : in_force_->listeners[i].sockets->fds()) {
      const ListenerConfig& of = in_force_->config->listeners[i];
      const bool elsewhere = of.port != 0 && of.port != in_force_->listeners[i].sockets->port();
      all.push_back({.listener = of.name, .fd = fd, .any_port = elsewhere});
    }
  }
  return all;
}

std::uint16_t DataPlane::port(std::string_view listener) const {
  const Generation current = in_force();
  for (std::size_t i = 0; i < current->listeners.size(); ++i) {
    if (current->config->listeners[i].name == listener) {
      return current->listeners[i].sockets->port();
    }
  }
  return 0;
}

void DataPlane::report_flip(std::string_view scope, admit::Switch which,
                            const admit::SwitchSetting& setting, Instant now) const {
  if (events_ == nullptr) return;
  std::string detail(admit::name(which));
  detail += setting.off ? " off" : " on";
  if (!setting.reason.empty()) detail.append(": ").append(setting.reason);
  events_->on_event({.kind = engine::EventKind::switch_flipped,
                     .key = scope,
                     .at = now,
                     .length = setting.off ? between(now, setting.until) : Duration{0},
                     .detail = detail});
}

std::optional<std::string> DataPlane::flip(std::string_view scope, admit::Switch which,
                                           const admit::SwitchSetting& setting) {
  const Instant now = run::now();
  if (scope.empty()) {
    damper::switches().set(which, setting);
    report_flip("everything", which, setting, now);
    return std::nullopt;
  }
  // Kept and looked up in one step: a reload that comes after it restores it.
  Generation current;
  {
    const std::lock_guard lock(mutex_);
    current = in_force_;
    if (has_scope(*current, scope)) {
      flips_[std::string(scope)][static_cast<std::size_t>(which)] = {
          .until = setting.off ? setting.until : Instant::min(),
          .reason = std::string(setting.reason)};
    }
  }
  for (const auto& route : current->routes) {
    if (scope != "route/" + route->dependency().name()) continue;
    route->dependency().flip(which, setting, now);
    return std::nullopt;
  }
  for (const auto& cluster : current->clusters) {
    if (scope != "cluster/" + cluster->name()) continue;
    cluster->switches().set(which, setting);
    report_flip(scope, which, setting, now);
    return std::nullopt;
  }
  return "there is no scope \"" + std::string(scope) +
         "\": it is \"\" for everything, \"cluster/NAME\" or \"route/NAME\"";
}

}  // namespace

Expected<std::unique_ptr<Proxy>, std::string> Proxy::start(const ProxyConfig& config,
                                                           const ProxyOptions& options) {
  auto plane = std::make_unique<DataPlane>(config, options);
  if (auto error = plane->begin(config, options.inherited)) return unexpected(*std::move(error));
  return std::unique_ptr<Proxy>(std::move(plane));
}

}  // namespace damper::proxy
