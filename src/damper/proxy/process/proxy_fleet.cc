#include "damper/proxy/process/proxy_fleet.h"

#include <algorithm>
#include <utility>

#include "damper/observe/process_event.h"
#include "damper/run/clock.h"

namespace damper::proxy {

Expected<SwitchOrder> parse_fleet_switch(std::string_view key, std::string_view text) {
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

std::optional<std::string> ProxyFleet::on_policy(const std::string& text) {
  if (auto why = reload_(text)) return why;  // reload_ has emitted the event.
  for (const auto& [key, again] : std::exchange(refused_, {})) (void)flip(key, again);
  return std::nullopt;
}

std::optional<std::string> ProxyFleet::flip(const std::string& key, const std::string& text) {
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

void ProxyFleet::forget(std::map<std::string, SwitchOrder>::const_iterator known) {
  const std::lock_guard lock(mutex_);
  flipped_.erase(known);
}

bool ProxyFleet::has_flipped(const SwitchOrder& order) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(flipped_.begin(), flipped_.end(), [&](const auto& one) {
    const SwitchOrder& said = one.second;
    return said.off && said.scope == order.scope && said.which == order.which &&
           said.reason == order.reason;
  });
}

void ProxyFleet::release(const std::string& key, const SwitchOrder& next) {
  const auto known = flipped_.find(key);
  if (known == flipped_.end()) return;
  const SwitchOrder before = known->second;
  if (before.scope == next.scope && before.which == next.which) return;
  forget(known);
  (void)flip_(before.scope, before.which, {});  // A route that is gone has no switch.
}

std::optional<std::string> ProxyFleet::on_switch(const std::string& scope,
                                                 const std::optional<std::string>& text) {
  refused_.erase(scope);
  if (text) return flip(scope, *text);
  const auto known = flipped_.find(scope);
  if (known == flipped_.end()) return std::nullopt;
  const SwitchOrder order = known->second;
  forget(known);
  return flip_(order.scope, order.which, {});
}

}  // namespace damper::proxy
