#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/engine/event.h"
#include "damper/observe/process_event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy.h"
#include "damper/proxy/process/proxy_admin.h"
#include "damper/proxy/process/proxy_settings.h"
#include "damper/run/clock.h"

namespace damper::proxy {

// The settings that differ and need a restart: "threads and admin.address stay as they were until a
// restart; SIGUSR2 is one"; empty without any.
[[nodiscard]] inline std::string restart_note(const ProxyConfig& started, const ProxyConfig& next) {
  std::vector<std::string> what;
  if (started.threads != next.threads) what.emplace_back("threads");
  if (started.admin.has_value() != next.admin.has_value()) {
    what.emplace_back("admin");  // It is off, or is no longer.
  } else if (started.admin && (started.admin->address != next.admin->address ||
                               started.admin->port != next.admin->port)) {
    what.emplace_back("admin.address");
  }
  std::string out;
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (i > 0) out += i + 1 == what.size() ? " and " : ", ";
    out += what[i];
  }
  if (!out.empty()) {
    out += what.size() == 1 ? " stays as it was" : " stay as they were";
    out += " until a restart; SIGUSR2 is one";
  }
  return out;
}

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
               std::string text, ProxyAdmin* admin = nullptr)
      : settings_(settings),
        proxy_(proxy),
        events_(events),
        admin_(admin),
        refused_(counter(proxy, "refused")),
        unchanged_(counter(proxy, "unchanged")),
        time_(proxy.registry().gauge("damper_proxy_last_reload_time_seconds",
                                     "When the configuration was put in force, in Unix time.")),
        started_(proxy.config()),
        applied_(std::move(text)) {
    on_applied();
  }

  // Reloads the file. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> reload_file(When when) {
    const std::lock_guard lock(mutex_);
    if (when == When::always) {
      refused_why_.clear();  // An explicit reload reports the reason again.
      if (fleet_text_ && *fleet_text_ != applied_) {
        auto why = apply(*fleet_text_, settings_.control);
        if (!why) fleet_stands_ = true;
        if (fleet_stands_) return why;
      }
    }
    if (fleet_stands_) return "the fleet's policy is in force: change it in etcd";
    if (settings_.file.empty()) {
      return "the proxy was started without a file";
    }
    const auto text = read_proxy_file(settings_);
    if (!text) {
      refused_.add();
      return refuse(std::nullopt, text.error());
    }
    if (when == When::if_changed && (*text == applied_ || *text == refused_text_)) {
      if (*text == applied_) forget_refused();
      unchanged_.add();
      return std::nullopt;
    }
    return apply(*text, settings_.file);
  }
  // Uses the fleet's policy, from now on instead of the file. One sentence: why nothing changed.
  [[nodiscard]] std::optional<std::string> use_fleet(const std::string& text) {
    const std::lock_guard lock(mutex_);
    fleet_text_ = text;
    if (fleet_stands_ && text == applied_) {
      forget_refused();
      unchanged_.add();
      return std::nullopt;
    }
    auto why = apply(text, settings_.control);
    if (!why) fleet_stands_ = true;
    return why;
  }
  // The fleet's policy at the start, and whether the proxy was started with it.
  void on_fleet_at_start(std::optional<std::string> text, bool in_force) {
    const std::lock_guard lock(mutex_);
    fleet_text_ = std::move(text);
    fleet_stands_ = in_force;
  }

 private:
  // The proxy's own counter: the proxy counts its reloads, this class what never reached it.
  static observe::Counter& counter(Proxy& proxy, const char* result) {
    return proxy.registry().counter(kReloadsMetric, kReloadsHelp, {{"result", result}});
  }
  // REQUIRES: mutex_ is held.
  std::optional<std::string> apply(const std::string& text, const std::string& name) {
    const auto config = make_proxy_config(settings_, text, name);
    if (!config) {
      refused_.add();
      return refuse(text, config.error());
    }
    if (auto why = admin_ != nullptr ? admin_->find_error(*config) : std::nullopt) {
      refused_.add();
      return refuse(text, *std::move(why));
    }
    if (auto why = proxy_.reload(*config)) return refuse(text, *std::move(why));
    applied_ = text;
    forget_refused();
    on_applied();
    std::string detail = name;
    if (auto why = admin_ != nullptr ? admin_->use(*config) : std::nullopt) detail += ": " + *why;
    if (started_ != nullptr) {
      if (const std::string note = restart_note(*started_, *config); !note.empty()) {
        detail += ": " + note;
      }
    }
    events_.on_event({.kind = engine::EventKind::policy_reloaded,
                      .key = "proxy",
                      .at = run::now(),
                      .count = static_cast<std::int64_t>(proxy_.version()),
                      .detail = detail});
    return std::nullopt;
  }
  std::optional<std::string> refuse(std::optional<std::string> text, std::string why) {
    if (refused_text_ == text && refused_why_ == why) return why;  // Reported already.
    events_.on_event({.kind = observe::ProcessEvent::policy_refused,
                      .key = "proxy",
                      .at = run::now(),
                      .detail = why});
    refused_text_ = std::move(text);
    refused_why_ = why;
    return why;
  }
  void forget_refused() noexcept {
    refused_text_.reset();
    refused_why_.clear();
  }
  void on_applied() {
    time_.set(std::chrono::duration<double>(run::wall_time().time_since_epoch()).count());
  }

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

}  // namespace damper::proxy
