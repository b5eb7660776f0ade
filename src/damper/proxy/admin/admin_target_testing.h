#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "damper/admit/switches.h"
#include "damper/proxy/admin/admin_pages.h"
#include "damper/run/clock.h"

namespace damper::proxy {

// The state of a proxy in an incident, with a value in every part.
[[nodiscard]] inline ProxyState incident() {
  using std::chrono::milliseconds;
  ProxyState state;
  state.version = 7;
  state.loops = state.answered = 2;
  state.budget = {.balance = 8, .fill = 0.5};
  state.up = std::chrono::hours(3);
  state.requests_under_way = 41;
  state.listeners = {
      {.name = "edge", .address = "0.0.0.0", .port = 8443, .tls = true, .connections = 120}};
  state.clusters = {{.name = "payments",
                     .budget = {.balance = 0.5, .fill = 0.04},
                     .replicas = {{.endpoint = "http://10.0.0.1:9000",
                                   .outstanding = 3,
                                   .latency = milliseconds(12),
                                   .connections = 8,
                                   .idle = 5,
                                   .waiting = 0},
                                  {.endpoint = "http://10.0.0.2:9000",
                                   .outstanding = 0,
                                   .ejected_on = 2,
                                   .latency = milliseconds(900),
                                   .connections = 1,
                                   .idle = 1,
                                   .waiting = 4}}},
                    {.name = "static", .budget = {.balance = 20, .fill = 1}, .replicas = {}}};
  RouteState assets{.name = "assets", .cluster = "static"};
  assets.tally.started = assets.tally.finished = assets.tally.attempts = 5000;
  assets.tally.verdicts[static_cast<std::size_t>(Verdict::success)] = 5000;
  assets.budget = {.balance = 20, .fill = 1};
  assets.p50 = milliseconds(2);
  assets.p99 = milliseconds(9);
  RouteState checkout{.name = "checkout", .cluster = "payments"};
  checkout.tally.started = 1000;
  checkout.tally.finished = 990;
  checkout.tally.attempts = 1100;
  checkout.tally.retries[static_cast<std::size_t>(decide::Outcome::timeout)] = 110;
  checkout.tally.verdicts[static_cast<std::size_t>(Verdict::success)] = 900;
  checkout.tally.verdicts[static_cast<std::size_t>(Verdict::budget_spent)] = 90;
  checkout.tally.hedges = 3;
  checkout.tally.budget_refusals = 90;
  checkout.budget = {.balance = 0.25, .fill = 0.02};
  checkout.has_breaker = true;
  checkout.breaker = admit::BreakerState::open;
  checkout.has_limit = true;
  checkout.limit = 64;
  checkout.in_flight = 60;
  checkout.throttle = 0.125;
  checkout.queued = 17;
  checkout.running = 60;
  checkout.p50 = milliseconds(80);
  checkout.p99 = milliseconds(2500);
  state.routes = {assets, checkout};
  state.scopes = {{},
                  {.scope = SwitchScope::cluster("payments"), .switches = {}},
                  {.scope = SwitchScope::route("checkout"), .switches = {}}};
  return state;
}

// An AdminTarget with real switches; the test sets the rest.
class FakeAdminTarget final : public AdminTarget {
 public:
  ProxyState state() override {
    if (before_state) before_state();
    std::vector<ScopeState> scopes = switches();
    const std::lock_guard lock(mutex);
    ProxyState now = shown;
    now.scopes = std::move(scopes);
    return now;
  }
  std::vector<ScopeState> switches() override {
    const std::lock_guard lock(mutex);
    std::vector<ScopeState> scopes = shown.scopes;
    for (ScopeState& scope : scopes) {
      for (std::size_t i = 0; i < scope.switches.size(); ++i) {
        scope.switches[i] =
            switches_of(scope.scope).snapshot(static_cast<admit::Switch>(i), run::now());
      }
    }
    return scopes;
  }
  std::string policy() override { return "routes: []\n"; }
  observe::Registry& registry() override { return metrics; }
  std::optional<std::string> find_unready() override {
    const std::lock_guard lock(mutex);
    return unready;
  }
  std::optional<std::string> flip(const SwitchScope& scope, admit::Switch which,
                                  const admit::SwitchSetting& setting) override {
    const std::lock_guard lock(mutex);
    for (const ScopeState& known : shown.scopes) {
      if (known.scope != scope) continue;
      switches_of(known.scope).set(which, setting);
      return std::nullopt;
    }
    return "there is no " + scope.text();
  }
  // Known: the routes and the clusters of the state, and the replicas of these.
  std::optional<std::string> force(const SwitchScope& scope, const std::string& replica,
                                   const admit::BreakerForceSetting& setting) override {
    const std::lock_guard lock(mutex);
    bool known = false;
    for (const ScopeState& one : shown.scopes) known = known || one.scope == scope;
    if (!known) return "there is no " + scope.text();
    std::erase_if(shown.forced, [&](const ForcedBreaker& one) {
      return one.scope == scope && one.replica == replica;
    });
    if (setting.force == admit::BreakerForce::none) return std::nullopt;
    shown.forced.push_back({.scope = scope,
                            .replica = replica,
                            .status = {.force = setting.force,
                                       .remaining = setting.length,
                                       .reason = std::string(setting.reason),
                                       .own = admit::BreakerState::half_open},
                            .has_own = replica.empty()});
    return std::nullopt;
  }
  std::vector<ForcedBreaker> forced() override {
    const std::lock_guard lock(mutex);
    return shown.forced;
  }
  Expected<std::uint64_t, ReloadRefusal> reload() override {
    const std::lock_guard lock(mutex);
    ++reloads;
    if (refusal) return unexpected(*refusal);
    return ++shown.version;
  }

  std::mutex mutex;
  ProxyState shown = incident();
  std::optional<std::string> unready{};
  std::optional<ReloadRefusal> refusal{};
  int reloads = 0;
  std::function<void()> before_state;
  observe::Registry metrics;

 private:
  admit::Switches& switches_of(const SwitchScope& scope) {
    auto& found = switches_[scope];
    if (!found) found = std::make_unique<admit::Switches>();
    return *found;
  }
  std::map<SwitchScope, std::unique_ptr<admit::Switches>> switches_;
};

}  // namespace damper::proxy
