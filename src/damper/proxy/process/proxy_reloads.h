#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "damper/engine/event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy.h"
#include "damper/proxy/process/proxy_settings.h"

namespace damper::proxy {

class ProxyAdmin;

// ProxyReloads applies the next configuration to a running proxy, on a signal, a change of the
// file, a request to the admin API, or a change in etcd.
//
// Model: the fleet's policy is used once there is a valid one, else the file. A text that does not
// load, that the proxy refuses, or whose token file cannot be read, changes nothing: policy_refused
// is emitted with the reason, and a metric counts it. A refused text of the fleet is tried again
// when it is received again, or on an explicit reload; the same reason is reported once. The event
// of a reload names the settings that need a restart.
//   damper_proxy_reloads_total{result}       applied, refused, unchanged
//   damper_proxy_last_reload_time_seconds    when the configuration was put in force, Unix time
// Thread safety: all methods may be called concurrently; reloads are serialised.
class ProxyReloads {
 public:
  enum class When : std::uint8_t { always, if_changed };

  // `text` is the configuration in force; `admin` gets a new token file. References outlive it.
  ProxyReloads(const ProxySettings& settings, Proxy& proxy, engine::EventSink& events,
               std::string text, ProxyAdmin* admin = nullptr);

  // Reloads the file. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> reload_file(When when);
  // Uses the fleet's policy, from now on instead of the file. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> use_fleet(const std::string& text);
  // The fleet's policy at the start, and whether the proxy was started with it.
  void on_fleet_at_start(std::optional<std::string> text, bool in_force);

 private:
  // REQUIRES: mutex_ is held.
  std::optional<std::string> apply(const std::string& text, const std::string& name);
  std::optional<std::string> refuse(std::optional<std::string> text, std::string why);
  void forget_refused() noexcept;
  void on_applied();

  const ProxySettings& settings_;
  Proxy& proxy_;
  engine::EventSink& events_;
  ProxyAdmin* const admin_;
  observe::Counter& refused_;
  observe::Counter& unchanged_;
  observe::Gauge& time_;
  std::mutex mutex_;
  const std::shared_ptr<const ProxyConfig> started_;
  std::string applied_;                        // the text in force
  std::optional<std::string> refused_text_{};  // refused last; nothing: it could not be read
  std::string refused_why_;
  std::optional<std::string> fleet_text_{};  // valid or not
  bool fleet_stands_ = false;                // the fleet's policy is in force: the file is ignored
};

// The settings that differ and need a restart: "threads and admin.address stay as they were until a
// restart; SIGUSR2 is one"; empty without any.
[[nodiscard]] std::string restart_note(const ProxyConfig& started, const ProxyConfig& next);

}  // namespace damper::proxy
