#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/engine/event.h"
#include "damper/observe/process_event.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/control/fleet_control.h"
#include "damper/run/clock.h"

namespace damper::proxy {

// Parses a switch of the fleet from its etcd key and value. The end of the key is the scope, and
// optionally the switch: process/retries, route/checkout, cluster/billing/hedging; the value is a
// SwitchOrder in JSON. A scope or switch in both has to be the same. One sentence: the error.
[[nodiscard]] inline Expected<SwitchOrder> parse_fleet_switch(std::string_view key,
                                                              std::string_view text) {
  auto order = parse_switch_order(text);
  if (!order) return unexpected("switches/" + std::string(key) + ": " + order.error());
  const auto refuse = [key](const std::string& why) {
    return unexpected("switches/" + std::string(key) + ": " + why);
  };
  const std::string which(admit::name(order->which));
  const std::size_t slash = key.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? "" : key.substr(slash + 1);
  const bool names_switch = admit::kSwitchNames.find(last).has_value();
  if (names_switch && last != which) return refuse("the value is for the switch " + which);
  auto scope = key.empty() ? Expected<SwitchScope>(unexpected(std::string("the key has no scope")))
                           : parse_scope(names_switch ? key.substr(0, slash) : key);
  if (!scope) return refuse(scope.error());
  if (order->scope != SwitchScope{} && order->scope != *scope) {
    return refuse("the value is for the scope " + order->scope.text());
  }
  order->scope = *std::move(scope);
  return *std::move(order);
}

// A ProxyFleet applies the fleet's policy and switches to a proxy.
//
// Model: a policy is a reload. A switch is flipped, and turned on again when its key is deleted or
// names another switch. A switch whose route does not exist is refused, and tried again after the
// next policy. The last writer wins: a flip by the admin API stands until the key changes.
// Thread safety: has_flipped() may be called by any thread; the rest by the control's thread, and
// before its start by the owner.
class ProxyFleet final : public FleetSink {
 public:
  using Reload = std::function<std::optional<std::string>(const std::string& text)>;
  using Flip = std::function<std::optional<std::string>(
      const SwitchScope& scope, admit::Switch which, const admit::SwitchSetting& setting)>;

  ProxyFleet(Reload reload, Flip flip, engine::EventSink& events)
      : reload_(std::move(reload)), flip_(std::move(flip)), events_(events) {}

  [[nodiscard]] std::optional<std::string> on_policy(const std::string& text) override {
    if (auto why = reload_(text)) return why;  // reload_ has emitted the event.
    for (const auto& [key, again] : std::exchange(refused_, {})) (void)flip(key, again);
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> on_switch(
      const std::string& scope, const std::optional<std::string>& text) override {
    refused_.erase(scope);
    if (text) return flip(scope, *text);
    const auto known = flipped_.find(scope);
    if (known == flipped_.end()) return std::nullopt;
    const SwitchOrder order = known->second;
    forget(known);
    return flip_(order.scope, order.which, {});
  }
  // Whether a key holds this order: a successor reads it from there.
  [[nodiscard]] bool has_flipped(const SwitchOrder& order) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(flipped_.begin(), flipped_.end(), [&](const auto& one) {
      const SwitchOrder& known = one.second;
      return known.off && known.scope == order.scope && known.which == order.which &&
             known.reason == order.reason;
    });
  }

 private:
  [[nodiscard]] std::optional<std::string> flip(const std::string& key, const std::string& text) {
    const auto order = parse_fleet_switch(key, text);
    std::optional<std::string> why;
    if (!order) why = order.error();
    if (order) release(key, *order);
    if (order) why = flip_(order->scope, order->which, order->setting(run::now()));
    if (why) {
      refused_[key] = text;
      events_.on_event({.kind = observe::ProcessEvent::policy_refused,
                        .key = "control",
                        .at = run::now(),
                        .detail = *why});
    } else {
      const std::lock_guard lock(mutex_);
      flipped_[key] = *order;
    }
    return why;
  }
  // Turns on what the key had turned off, unless `next` is the same switch.
  void release(const std::string& key, const SwitchOrder& next) {
    const auto known = flipped_.find(key);
    if (known == flipped_.end()) return;
    const SwitchOrder before = known->second;
    if (before.scope == next.scope && before.which == next.which) return;
    forget(known);
    (void)flip_(before.scope, before.which, {});  // A route that is gone has no switch.
  }
  void forget(std::map<std::string, SwitchOrder>::const_iterator known) {
    const std::lock_guard lock(mutex_);
    flipped_.erase(known);
  }

  const Reload reload_;
  const Flip flip_;
  engine::EventSink& events_;
  mutable std::mutex mutex_;  // for writes to the following members, and reads by other threads
  std::map<std::string, SwitchOrder> flipped_;  // by key
  std::map<std::string, std::string> refused_;  // the texts, by key
};

}  // namespace damper::proxy
