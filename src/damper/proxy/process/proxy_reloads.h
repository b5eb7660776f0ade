#ifndef DAMPER_PROXY_PROCESS_PROXY_RELOADS_H_
#define DAMPER_PROXY_PROCESS_PROXY_RELOADS_H_

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

// ProxyReloads give a running proxy its next configuration, whoever asks: a signal, a change of the
// file, the admin's API, a fleet's etcd.
//
// Model: the text is the fleet's, once it has one; else the file's. What does not load, and what
// the proxy refuses, changes nothing: one event policy_refused says why, and a metric counts it. A
// text of the fleet's that was refused is tried again when it comes again, or a reload is asked
// for; for the same reason it is refused in silence. A token file of the admin pages that is
// another one, and cannot be read, is a reason, too. What a reload cannot change, the event says.
//   damper_proxy_reloads_total{result}       applied, refused, unchanged
//   damper_proxy_last_reload_time_seconds    when the one in force came, Unix time
// Thread safety: all methods may be called concurrently; reloads come one after the other.
class ProxyReloads {
 public:
  enum class When : std::uint8_t { always, if_changed };

  // `text` is what the proxy runs with; `admin` hears of what comes, if there is one. What is
  // referred to outlives it.
  ProxyReloads(const ProxySettings& settings, Proxy& proxy, engine::EventSink& events,
               std::string text, ProxyAdmin* admin = nullptr);

  // Reads the file again. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> reload_file(When when);
  // What the fleet says, from now on in the place of the file. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> use_fleet(const std::string& text);
  // What the fleet says at the start, and whether the proxy runs with the fleet's already.
  void on_fleet_at_start(std::optional<std::string> text, bool in_force);

 private:
  // REQUIRES: the lock.
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
  std::string applied_;                        // the text that it runs with
  std::optional<std::string> refused_text_{};  // the one that was refused last; nothing: unread
  std::string refused_why_;
  std::optional<std::string> fleet_text_{};  // what the fleet says, good or not
  bool fleet_stands_ = false;                // the fleet has a policy: the file is not looked at
};

// What differs and a reload does not change: "threads and admin.address stay as they were until a
// restart; SIGUSR2 is one"; or nothing.
[[nodiscard]] std::string restart_note(const ProxyConfig& started, const ProxyConfig& next);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_RELOADS_H_
