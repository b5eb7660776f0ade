#include "damper/proxy/data/certificate_watch.h"

#include <optional>

namespace damper::proxy {
namespace {

constexpr std::string_view kReloads = "damper_tls_reloads_total";
constexpr std::string_view kReloadsText =
    "Changed certificate files that were read: applied, or refused.";
constexpr std::size_t kMostWarned = 10'000;

std::string owner_of(const ListenerConfig& listener) { return "listener " + listener.name; }
std::string owner_of(const ClusterConfig& cluster) { return "cluster " + cluster.name; }

}  // namespace

CertificateWatch::CertificateWatch(observe::Registry& registry, engine::EventSink* events)
    : events_(events),
      applied_(registry.counter(kReloads, kReloadsText, {{"result", "applied"}})),
      refused_(registry.counter(kReloads, kReloadsText, {{"result", "refused"}})) {}

bool CertificateWatch::has_settled(const std::string& owner, const FileStamps& in_force,
                                   const FileStamps& now) {
  if (now == in_force) {
    seen_.erase(owner);
    return false;
  }
  Seen& seen = seen_[owner];
  if (seen.stamps == now) return true;
  seen.stamps = now;
  return false;
}

void CertificateWatch::report(observe::ProcessEvent kind, Instant now, const std::string& detail) {
  if (events_ == nullptr) return;
  events_->on_event({.kind = kind, .key = "proxy", .at = now, .detail = detail});
}

void CertificateWatch::on_read(const std::string& owner, Instant now, const std::string* error) {
  if (error == nullptr) {
    seen_.erase(owner);
    applied_.add();
    return report(observe::ProcessEvent::certificate_reloaded, now, owner);
  }
  Seen& seen = seen_[owner];
  if (seen.refused == *error) return;
  seen.refused = *error;
  refused_.add();
  report(observe::ProcessEvent::certificate_refused, now, *error + "; the old one stays in use");
}

void CertificateWatch::warn(const std::string& owner, const http::TlsSettings& settings,
                            Instant now, std::int64_t wall) {
  for (const http::CertificateFacts& one : settings.certificates()) {
    const std::int64_t left = one.not_after - wall;
    if (left > kWarning || warned_.size() >= kMostWarned) continue;
    if (!warned_.emplace(owner + ' ' + one.file, one.not_after).second) continue;
    report(
        observe::ProcessEvent::certificate_expires, now,
        owner + ": certificate_file " + one.file +
            (left > 0 ? " expires in " + std::to_string(left / 3600) + " hours" : " has expired"));
  }
}

std::shared_ptr<ProxyGeneration> CertificateWatch::look(const ProxyGeneration& in_force,
                                                        Instant now, std::int64_t wall) {
  std::shared_ptr<ProxyGeneration> next;
  // `make` reads the files; their stamps after that must be those from before.
  const auto look_at = [&](const auto& config, const FileStamps& known, const auto& current,
                           const auto& make, const auto& use) {
    const std::vector<std::string> files = tls_files(config);
    if (files.empty()) {
      if (current) warn(owner_of(config), *current, now, wall);
      return;
    }
    FileStamps stamps = stamp_files(files);
    const std::string owner = owner_of(config);
    if (has_settled(owner, known, stamps)) {
      auto made = make(config);
      if (stamp_files(files) == stamps) {
        on_read(owner, now, made ? nullptr : &made.error());
        if (made) {
          if (next == nullptr) next = std::make_shared<ProxyGeneration>(in_force);
          warn(owner, **made, now, wall);
          return use(*std::move(made), std::move(stamps));
        }
      }
    }
    if (current) warn(owner, *current, now, wall);
  };
  for (std::size_t i = 0; i < in_force.listeners.size(); ++i) {
    const ProxyGeneration::Listener& listener = in_force.listeners[i];
    look_at(
        in_force.config->listeners[i], listener.stamps, listener.tls,
        [&](const ListenerConfig& config) { return make_server_tls(config, listener.keys); },
        [&](std::optional<http::TlsSettings> made, FileStamps stamps) {
          next->listeners[i].tls = std::move(made);
          next->listeners[i].stamps = std::move(stamps);
        });
  }
  for (std::size_t i = 0; i < in_force.clusters.size(); ++i) {
    look_at(
        in_force.config->clusters[i], in_force.client_stamps[i], in_force.client_tls[i],
        [](const ClusterConfig& config) { return make_client_tls(config); },
        [&](std::optional<http::TlsSettings> made, FileStamps stamps) {
          next->client_tls[i] = std::move(made);
          next->client_stamps[i] = std::move(stamps);
        });
  }
  return next;
}

void write_expiry(const ProxyGeneration& generation, std::int64_t wall, observe::Exposition& out) {
  const auto write = [&](const std::string& owner, const std::optional<http::TlsSettings>& tls) {
    if (!tls) return;
    for (const http::CertificateFacts& one : tls->certificates()) {
      out.gauge("damper_tls_certificate_expiry_seconds",
                "Seconds until the certificate in use expires; negative: since.",
                {{"owner", owner}, {"certificate", one.file}},
                static_cast<double>(one.not_after - wall));
    }
  };
  for (std::size_t i = 0; i < generation.listeners.size(); ++i) {
    write(owner_of(generation.config->listeners[i]), generation.listeners[i].tls);
  }
  for (std::size_t i = 0; i < generation.clusters.size(); ++i) {
    write(owner_of(generation.config->clusters[i]), generation.client_tls[i]);
  }
}

}  // namespace damper::proxy
