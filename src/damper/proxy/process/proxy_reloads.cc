#include "damper/proxy/process/proxy_reloads.h"

#include <chrono>
#include <utility>

#include "damper/observe/process_event.h"
#include "damper/proxy/process/proxy_admin.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

observe::Counter& counter(Proxy& proxy, const char* result) {
  // The proxy's own counter: the proxy counts its reloads, this class what never reached it.
  return proxy.registry().counter(kReloadsMetric, kReloadsHelp, {{"result", result}});
}

}  // namespace

ProxyReloads::ProxyReloads(const ProxySettings& settings, Proxy& proxy, engine::EventSink& events,
                           std::string text, ProxyAdmin* admin)
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

void ProxyReloads::on_applied() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  time_.set(std::chrono::duration<double>(now).count());
}

std::optional<std::string> ProxyReloads::refuse(std::optional<std::string> text, std::string why) {
  if (refused_text_ == text && refused_why_ == why) return why;  // Reported already.
  events_.on_event({.kind = observe::ProcessEvent::policy_refused,
                    .key = "proxy",
                    .at = run::now(),
                    .detail = why});
  refused_text_ = std::move(text);
  refused_why_ = why;
  return why;
}

void ProxyReloads::forget_refused() noexcept {
  refused_text_.reset();
  refused_why_.clear();
}

std::optional<std::string> ProxyReloads::apply(const std::string& text, const std::string& name) {
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

std::optional<std::string> ProxyReloads::reload_file(When when) {
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

std::optional<std::string> ProxyReloads::use_fleet(const std::string& text) {
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

void ProxyReloads::on_fleet_at_start(std::optional<std::string> text, bool in_force) {
  const std::lock_guard lock(mutex_);
  fleet_text_ = std::move(text);
  fleet_stands_ = in_force;
}

std::string restart_note(const ProxyConfig& started, const ProxyConfig& next) {
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

}  // namespace damper::proxy
