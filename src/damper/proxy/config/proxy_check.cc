#include "damper/proxy/config/proxy_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "damper/base/bounds.h"
#include "damper/base/text/words.h"
#include "damper/http/net/unix_address.h"
#include "damper/http/server/listen_address.h"
#include "damper/http/server/local_access.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/config/trust.h"

namespace damper::proxy {
namespace {

std::string refusal(const std::string& who, const http::ListenAddress& address,
                    const std::string& whose) {
  return std::string(who)
      .append(" cannot listen on ")
      .append(address.text())
      .append(": ")
      .append(whose);
}

using config::Error;
using config::Reading;
using config::SourceLocation;

class Checker {
 public:
  Checker(const ProxyConfig& config, const ProxyPlaces& places)
      : config_(config), places_(places) {}

  [[nodiscard]] std::optional<Error> find() {
    for (std::size_t i = 0; i < config_.listeners.size(); ++i) {
      if (auto wrong = check(config_.listeners[i], places_.listeners[i])) return wrong;
    }
    if (auto wrong = check_admin()) return wrong;
    for (std::size_t i = 0; i < config_.clusters.size(); ++i) {
      if (auto wrong = check(config_.clusters[i], places_.clusters[i])) return wrong;
    }
    for (std::size_t i = 0; i < config_.routes.size(); ++i) {
      if (auto wrong = check(config_.routes[i], places_.routes[i])) return wrong;
    }
    if (config_.tracing) {
      if (auto wrong = made(proxy_schema().place_of(places_.proxy, "tracing.collector"), "tracing",
                            http::find_error(*config_.tracing))) {
        return wrong;
      }
    }
    if (config_.retry_budget) {
      const SourceLocation place =
          proxy_schema().place_of(places_.proxy, "retry_budget.budget_percent");
      return made(place, "retry_budget", admit::find_error(*config_.retry_budget));
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {config_.file, place, std::move(sentence)};
  }
  // In the block of a route, or else in `defaults`.
  [[nodiscard]] SourceLocation place_of(const Reading& route, std::string_view path) const {
    const config::SourceLocation place = route_schema().place_of(route, path);
    const std::size_t key = route_schema().position(path);
    const bool in_defaults = place == route.place && key < places_.defaults.keys.size() &&
                             places_.defaults.keys[key].has_value();
    return in_defaults ? places_.defaults.keys[key]->place : place;
  }
  // The error of another find_error().
  [[nodiscard]] std::optional<Error> made(SourceLocation place, std::string_view whose,
                                          const std::optional<std::string>& sentence) const {
    if (!sentence) return std::nullopt;
    return error(place, std::string(whose) + ": " + *sentence);
  }

  template <class T>
  [[nodiscard]] std::optional<Error> check(const http::TlsProtocolOptions& protocol,
                                           const std::string& who, const config::Schema<T>& schema,
                                           const Reading& reading) const {
    auto wrong = http::find_error(protocol);
    if (!wrong) return std::nullopt;
    return error(schema.place_of(reading, "tls." + std::string(wrong->member)),
                 who + ": " + wrong->sentence);
  }

  // That no other socket listens there.
  [[nodiscard]] std::optional<Error> claim(const http::ListenAddress& address,
                                           const std::string& who, SourceLocation place) {
    if (address.port == 0 && !http::UnixAddress::is_unix(address.host)) return std::nullopt;
    for (const auto& [first, whose] : taken_) {
      if (first == address) {
        return error(place, refusal(who, address, whose).append(" does already"));
      }
      if (overlap(first, address)) {
        return error(place, refusal(who, address, whose)
                                .append(" does on ")
                                .append(first.text())
                                .append(", which is in part the same"));
      }
    }
    taken_.emplace_back(address, who);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> check(const ListenerConfig& listener, const Reading& reading) {
    const std::string who = "listener " + listener.name;
    const bool is_file = listener.address.starts_with("unix:/");
    if (!listener.mode.empty() && !is_file) {
      return error(listener_schema().place_of(reading, "mode"),
                   who + " has mode, but its address is not the path of a Unix socket");
    }
    if (const auto& tls = listener.tls) {
      const SourceLocation place = listener_schema().place_of(reading, "tls.certificate_file");
      const http::TlsIdentity& identity = tls->identity;
      const bool has_both = !identity.certificate_file.empty() && !identity.key_file.empty();
      const bool has_none = identity.certificate_file.empty() && identity.key_file.empty();
      if (!has_both && (!has_none || tls->certificates.empty())) {
        return error(place, who + " has tls but not both of certificate_file and key_file");
      }
      if (auto wrong = check(tls->protocol, who, listener_schema(), reading)) return wrong;
      if (tls->require_client_certificate && tls->client_ca_file.empty()) {
        return error(listener_schema().place_of(reading, "tls.require_client_certificate"),
                     who + " has require_client_certificate but no client_ca_file to check one");
      }
    }
    if (auto wrong = made(listener_schema().place_of(reading, "trust"), who + ": trust",
                          find_peers_error(listener.trust))) {
      return wrong;
    }
    if (auto wrong = made(listener_schema().place_of(reading, "proxy_protocol"),
                          who + ": proxy_protocol", find_peers_error(listener.proxy_protocol))) {
      return wrong;
    }
    if (auto wrong = made(reading.place, who, find_error(listener.limits))) return wrong;
    return claim({listener.address, listener.port}, who,
                 listener_schema().place_of(reading, "address"));
  }

  [[nodiscard]] std::optional<Error> check_admin() {
    if (!config_.admin) return std::nullopt;
    const AdminConfig& admin = *config_.admin;
    const SourceLocation place = proxy_schema().place_of(places_.proxy, "admin.address");
    if (!http::is_loopback(admin.address) && admin.token_file.empty()) {
      return error(place, "admin listens on " +
                              http::ListenAddress{admin.address, admin.port}.text() +
                              ", which is not loopback, and so needs a token_file");
    }
    return claim({admin.address, admin.port}, "admin", place);
  }

  [[nodiscard]] std::optional<Error> check(const ClusterConfig& cluster, const Reading& reading) {
    const std::string who = "cluster " + cluster.name;
    const SourceLocation place = cluster_schema().place_of(reading, "endpoints");
    if (cluster.endpoints.empty()) return error(reading.place, who + " has no endpoints");
    std::set<std::string_view> seen;
    const bool tls = cluster.endpoints.front().starts_with("https");
    for (const std::string& endpoint : cluster.endpoints) {
      if (!seen.insert(endpoint).second) {
        return error(place, who + " has the endpoint " + text::in_quotes(endpoint) + " twice");
      }
      if (endpoint.starts_with("https") != tls) {
        return error(place, who + " has endpoints of http and of https: they must be of one");
      }
    }
    for (const auto& [endpoint, zone] : cluster.zones) {
      if (seen.contains(endpoint)) continue;
      std::string sentence = who + " has the endpoint " + text::in_quotes(endpoint);
      sentence.append(" in zone ").append(zone).append(", but not among its endpoints");
      return error(cluster_schema().place_of(reading, "zones"), std::move(sentence));
    }
    if (cluster.dns.min_refresh > cluster.dns.max_refresh) {
      return error(cluster_schema().place_of(reading, "dns_min_refresh_rate"),
                   who + " has a dns_min_refresh_rate of " + bound_text(cluster.dns.min_refresh) +
                       "; it must be at most dns_max_refresh_rate, which is " +
                       bound_text(cluster.dns.max_refresh));
    }
    const http::TlsIdentity& identity = cluster.tls.identity;
    if (identity.certificate_file.empty() != identity.key_file.empty()) {
      return error(
          cluster_schema().place_of(
              reading, identity.key_file.empty() ? "tls.certificate_file" : "tls.key_file"),
          who + " has one of certificate_file and key_file: both are needed");
    }
    if (auto wrong = check(cluster.tls.protocol, who, cluster_schema(), reading)) return wrong;
    if (auto wrong = made(reading.place, who, http::find_error(cluster.pool))) return wrong;
    if (auto wrong = made(reading.place, who, http::find_error(cluster.dialer))) return wrong;
    if (auto wrong =
            made(cluster_schema().place_of(reading, "outlier_detection.base_ejection_time"),
                 who + ": outlier_detection", balance::find_error(cluster.replicas))) {
      return wrong;
    }
    if (auto wrong = check_health(cluster, reading)) return wrong;
    if (!cluster.retry_budget) return std::nullopt;
    return made(reading.place, who + ": retry_budget", admit::find_error(*cluster.retry_budget));
  }

  [[nodiscard]] std::optional<Error> check_health(const ClusterConfig& cluster,
                                                  const Reading& reading) const {
    if (!cluster.health_check) return std::nullopt;
    const std::string who = "cluster " + cluster.name;
    if (cluster.health_check->type == HealthCheckType::grpc &&
        cluster.protocol == http::Protocol::h1) {
      return error(cluster_schema().place_of(reading, "health_checks.type"),
                   who + " has health_checks of type grpc, which needs HTTP/2, but protocol http1");
    }
    return made(reading.place, who + ": health_checks", find_error(*cluster.health_check));
  }

  [[nodiscard]] std::optional<Error> check(const RouteConfig& route, const Reading& reading) {
    const std::string who = "route " + route.name;
    if (!route.match.path.empty() && !route.match.prefix.empty()) {
      return error(place_of(reading, "match.prefix"), who + " has both path and prefix");
    }
    if (!route.prefix_rewrite.empty() && route.match.prefix.empty()) {
      return error(place_of(reading, "prefix_rewrite"),
                   who + " has prefix_rewrite but no match.prefix whose place it could take");
    }
    if (route.request_buffering && route.request_buffer == 0) {
      return error(place_of(reading, "request_buffering"),
                   who + " has request_buffering, but request_buffer is 0: nothing can be kept");
    }
    if (const auto wrong = find_action_error(route)) {
      return error(place_of(reading, wrong->key), wrong->sentence);
    }
    if (route.forwards()) {
      if (auto wrong = check_cluster_of(route, reading)) return wrong;
    } else {
      for (const std::string_view key : {"cluster", "weighted_clusters"}) {
        if (!reading.keys[route_schema().position(key)]) continue;
        return error(place_of(reading, key), who + " has " + (key == "cluster" ? "a " : "") +
                                                 std::string(key) +
                                                 ", but answers itself and forwards nothing");
      }
    }
    if (route.hash_policy) {
      if (const auto wrong = find_error(*route.hash_policy)) {
        return error(place_of(reading, wrong->key), who + ": " + wrong->sentence);
      }
    }
    if (auto wrong = check_health_page(route, reading)) return wrong;
    if (route.rate_limit) {
      if (auto wrong = made(place_of(reading, "rate_limit.requests_per_second"),
                            who + ": rate_limit", admit::find_error(*route.rate_limit))) {
        return wrong;
      }
    }
    if (route.client_rate_limit) {
      if (auto wrong =
              made(place_of(reading, "client_rate_limit.requests_per_second"),
                   who + ": client_rate_limit", http::find_error(route.client_rate_limit->rates))) {
        return wrong;
      }
    }
    if (!route.admission) return std::nullopt;
    return made(place_of(reading, "admission_control.kind"), who + ": admission_control",
                http::find_error(*route.admission));
  }

  [[nodiscard]] std::vector<std::string_view> cluster_names() const {
    std::vector<std::string_view> names;
    names.reserve(config_.clusters.size());
    for (const ClusterConfig& cluster : config_.clusters) names.push_back(cluster.name);
    return names;
  }

  [[nodiscard]] std::optional<Error> check_cluster_of(const RouteConfig& route,
                                                      const Reading& reading) const {
    const std::vector<std::string_view> names = cluster_names();
    if (!route.weighted_clusters.empty()) return check_weights(route, reading, names);
    if (std::find(names.begin(), names.end(), route.cluster) != names.end()) return std::nullopt;
    if (route.cluster.empty()) {
      return error(reading.place, "route " + route.name + " needs a cluster, since there are " +
                                      std::to_string(names.size()));
    }
    return error(place_of(reading, "cluster"),
                 "route " + route.name + " goes to the cluster " + text::in_quotes(route.cluster) +
                     ", which there is not" + text::suggestion(route.cluster, names));
  }

  [[nodiscard]] std::optional<Error> check_weights(
      const RouteConfig& route, const Reading& reading,
      const std::vector<std::string_view>& names) const {
    const std::string who = "route " + route.name;
    const SourceLocation place = place_of(reading, "weighted_clusters");
    if (!route.cluster.empty()) return error(place, who + " has cluster and weighted_clusters");
    for (const ClusterWeight& one : route.weighted_clusters) {
      if (std::find(names.begin(), names.end(), one.cluster) != names.end()) continue;
      return error(place, who + " has weighted_clusters with the cluster " +
                              text::in_quotes(one.cluster) + ", which there is not" +
                              text::suggestion(one.cluster, names));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> check_health_page(const RouteConfig& route,
                                                       const Reading& reading) const {
    if (!route.health_page) return std::nullopt;
    const std::vector<std::string_view> names = cluster_names();
    for (const std::string& cluster : route.health_page->clusters) {
      if (std::find(names.begin(), names.end(), cluster) != names.end()) continue;
      return error(place_of(reading, "health_page.clusters"),
                   "route " + route.name + " has a health_page with the cluster " +
                       text::in_quotes(cluster) + ", which there is not" +
                       text::suggestion(cluster, names));
    }
    return std::nullopt;
  }

  const ProxyConfig& config_;
  const ProxyPlaces& places_;
  std::vector<std::pair<http::ListenAddress, std::string>> taken_;  // where, and by whom
};

bool covers_host(const std::string& wide, const std::string& narrow) {
  if (wide == narrow) return true;
  const std::string_view name =
      narrow.starts_with("*.") ? std::string_view(narrow).substr(1) : std::string_view(narrow);
  return wide.starts_with("*.") && matches_host(wide, name) &&
         name.size() > wide.size() - 1;  // *.x covers *.a.x and a.x, not x.
}

}  // namespace

bool covers(const RouteMatch& wide, const RouteMatch& narrow) {
  const auto every = [](const auto& all, auto test) {
    return !all.empty() && std::all_of(all.begin(), all.end(), test);
  };
  const auto some = [](const auto& all, auto test) {
    return std::any_of(all.begin(), all.end(), test);
  };
  if (!wide.hosts.empty() && !every(narrow.hosts, [&](const std::string& host) {
        return some(wide.hosts, [&](const std::string& w) { return covers_host(w, host); });
      })) {
    return false;
  }
  if (!wide.path.empty() && wide.path != narrow.path) return false;
  if (!wide.prefix.empty()) {
    const std::string& inner = narrow.path.empty() ? narrow.prefix : narrow.path;
    if (inner.empty() || !has_prefix(inner, wide.prefix)) return false;
  }
  if (!wide.methods.empty() && !every(narrow.methods, [&](const std::string& method) {
        return some(wide.methods, [&](const std::string& w) { return w == method; });
      })) {
    return false;
  }
  return std::all_of(
      wide.headers.begin(), wide.headers.end(), [&](const RouteMatch::Header& header) {
        return some(narrow.headers, [&](const RouteMatch::Header& other) {
          return other.name == header.name && (!header.value || header.value == other.value);
        });
      });
}

std::optional<Error> find_error(const ProxyConfig& config, const ProxyPlaces& places) {
  return Checker(config, places).find();
}

}  // namespace damper::proxy
