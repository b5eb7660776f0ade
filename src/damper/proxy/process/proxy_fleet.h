#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/engine/event.h"
#include "damper/proxy/admin/switch_order.h"
#include "damper/proxy/control/fleet_control.h"

namespace damper::proxy {

// Parses a switch of the fleet from its etcd key and value. The end of the key is the scope, and
// optionally the switch: process/retries, route/checkout, cluster/billing/hedging; the value is a
// SwitchOrder in JSON. A scope or switch in both has to be the same. One sentence: the error.
[[nodiscard]] Expected<SwitchOrder> parse_fleet_switch(std::string_view key, std::string_view text);

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

  [[nodiscard]] std::optional<std::string> on_policy(const std::string& text) override;
  [[nodiscard]] std::optional<std::string> on_switch(
      const std::string& scope, const std::optional<std::string>& text) override;
  // Whether a key holds this order: a successor reads it from there.
  [[nodiscard]] bool has_flipped(const SwitchOrder& order) const;

 private:
  [[nodiscard]] std::optional<std::string> flip(const std::string& key, const std::string& text);
  // Turns on what the key had turned off, unless `next` is the same switch.
  void release(const std::string& key, const SwitchOrder& next);
  void forget(std::map<std::string, SwitchOrder>::const_iterator known);

  const Reload reload_;
  const Flip flip_;
  engine::EventSink& events_;
  mutable std::mutex mutex_;  // for writes to the following members, and reads by other threads
  std::map<std::string, SwitchOrder> flipped_;  // by key
  std::map<std::string, std::string> refused_;  // the texts, by key
};

}  // namespace damper::proxy
