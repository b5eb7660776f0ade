#ifndef DAMPER_PROXY_PROCESS_PROXY_FLEET_H_
#define DAMPER_PROXY_PROCESS_PROXY_FLEET_H_

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

// The order that a key and its value in etcd are. The key's end is the scope, and perhaps the
// switch: process/retries, route/checkout, cluster/billing/hedging; the value is what PUT /switches
// takes. Where both say the same thing they have to agree. One sentence: they are none.
[[nodiscard]] Expected<SwitchOrder> parse_fleet_switch(std::string_view key, std::string_view text);

// A ProxyFleet does what the fleet's control says to a proxy.
//
// Model: a policy goes where a reload goes. A switch is flipped; when its key is gone, it is turned
// on again; so is it when its key is now about another. One whose route is not there is refused,
// and tried again after the next policy. Who writes last has the say: a switch that the admin's API
// has flipped stays so until its key changes.
// Thread safety: has_flipped() may be called by any thread; the rest by the control's, and before
// that by whoever made it.
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
  // Whether a key says this: the next process has it from there, and when the key is gone, not.
  [[nodiscard]] bool has_flipped(const SwitchOrder& order) const;

 private:
  [[nodiscard]] std::optional<std::string> flip(const std::string& key, const std::string& text);
  // What the key had turned off is on again, unless it is the same switch.
  void release(const std::string& key, const SwitchOrder& next);
  void forget(std::map<std::string, SwitchOrder>::const_iterator known);

  const Reload reload_;
  const Flip flip_;
  engine::EventSink& events_;
  mutable std::mutex mutex_;                    // for writes to what follows, and others' reads
  std::map<std::string, SwitchOrder> flipped_;  // by key
  std::map<std::string, std::string> refused_;  // the texts, by key
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_FLEET_H_
