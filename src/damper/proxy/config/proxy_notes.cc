// The notes of a valid config: what has no effect, or is not reached.

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "damper/http/net/unix_address.h"
#include "damper/http/server/local_access.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_check.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/trust.h"

namespace damper::proxy {
namespace {

using config::Reading;
using config::Schema;
using config::SourceLocation;

// The keys of a route that forwards nothing, by their first word.
constexpr std::array<std::string_view, 9> kAnswerKeys = {
    "match",           "rate_limit", "client_rate_limit",       "response_headers_to_add",
    "direct_response", "redirect",   "response_headers_to_set", "response_headers_to_remove",
    "health_page",
};

// The names of the clusters to which a route sends requests.
std::set<std::string_view> targets_of(const RouteConfig& route) {
  std::set<std::string_view> names;
  if (!route.cluster.empty()) names.insert(route.cluster);
  for (const ClusterWeight& one : route.weighted_clusters) names.insert(one.cluster);
  return names;
}

// The names of the clusters that select a replica by the request's key.
std::set<std::string_view> clusters_by_key(const ProxyConfig& config) {
  std::set<std::string_view> names;
  for (const ClusterConfig& cluster : config.clusters) {
    if (cluster.replicas.lb_policy == balance::LbPolicy::consistent_hash)
      names.insert(cluster.name);
  }
  return names;
}

// Whether every peer of the listener is trusted. `auto` may find more: an inherited socket.
bool trusts_all(const ListenerConfig& listener) {
  const bool is_local =
      peers_of(listener.proxy_protocol).is_empty() &&
      (http::UnixAddress::is_unix(listener.address) || http::is_loopback(listener.address));
  return Trust::of(listener.trust, is_local) == Trust::all();
}

template <class T>
bool is_set(const Schema<T>& schema, const Reading& reading, std::string_view key) {
  const std::size_t position = schema.position(key);
  return position < reading.keys.size() && reading.keys[position].has_value();
}

class NoteTaker {
 public:
  NoteTaker(const ProxyConfig& config, const ProxyPlaces& places,
            const policy::PolicyFile& policies)
      : config_(config), places_(places), policies_(policies), hashed_(clusters_by_key(config)) {}

  [[nodiscard]] std::vector<config::Note> take() && {
    for (std::size_t i = 0; i < config_.listeners.size(); ++i) {
      look_at(config_.listeners[i], places_.listeners[i]);
    }
    for (std::size_t i = 0; i < config_.routes.size(); ++i) look_at_route(i);
    for (std::size_t i = 0; i < config_.clusters.size(); ++i) {
      look_at(config_.clusters[i], places_.clusters[i]);
    }
    look_at_file();
    return std::move(notes_);
  }

 private:
  void note(SourceLocation place, std::string sentence) {
    notes_.push_back({config_.file, place, std::move(sentence)});
  }
  // For a key without an effect, if the file sets it: "KEY of WHOSE is not used: WHY".
  template <class T>
  void note_unused(const Schema<T>& schema, const Reading& reading, std::string_view key,
                   const std::string& whose, std::string_view why) {
    if (!is_set(schema, reading, key)) return;
    note(schema.place_of(reading, key),
         std::string(key) + " of " + whose + " is not used: " + std::string(why));
  }

  void look_at(const ListenerConfig& listener, const Reading& reading) {
    const bool has_peers = listener.proxy_protocol != ListenerConfig{}.proxy_protocol;
    if (http::UnixAddress::is_unix(listener.address) && !has_peers) {
      note_unused(listener_schema(), reading, "max_connections_per_client",
                  "listener " + listener.name,
                  "the clients of a Unix socket have no address, and proxy_protocol is none");
    }
    const std::uint32_t streams = listener.limits.max_streams;
    const std::uint32_t resets = listener.limits.max_resets_per_second;
    if (streams > 2 * resets) {
      note(listener_schema().place_of(reading, "max_concurrent_streams"),
           "listener " + listener.name + " has " + std::to_string(streams) +
               " max_concurrent_streams: a client that resets as many at short deadlines is closed "
               "as a flood, unless max_resets_per_second, " +
               std::to_string(resets) + ", is at least half of it");
    }
  }

  void look_at_route(std::size_t i) {
    const RouteConfig& route = config_.routes[i];
    const Reading& reading = places_.routes[i];
    const std::set<std::string_view> targets = targets_of(route);
    used_.insert(targets.begin(), targets.end());
    if (!route.forwards()) note_forwarding_keys(i);
    note_removed_fields(route, reading);
    if (route.health_page && route.health_page->clusters.empty()) {
      note_unused(route_schema(), reading, "health_page.min_healthy", "route " + route.name,
                  "health_page has no clusters");
    }
    if (route.forwards() && route.hash_policy) {
      keyed_.insert(targets.begin(), targets.end());
      const bool uses_key = targets.size() > 1 ||
                            std::any_of(targets.begin(), targets.end(), [&](std::string_view name) {
                              return hashed_.contains(name);
                            });
      if (!uses_key) {
        note(reading.place,
             "hash_policy of route " + route.name +
                 " is not used: it has no weighted_clusters, and its cluster has no lb_policy: "
                 "consistent_hash");
      }
    }
    const auto before = std::find_if(
        config_.routes.begin(), config_.routes.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const RouteConfig& other) { return covers(other.match, route.match); });
    if (before == config_.routes.begin() + static_cast<std::ptrdiff_t>(i)) return;
    note(reading.place, "route " + route.name + " is never reached: route " + before->name +
                            " before it takes all of its requests");
  }

  // Fields of strangers that are removed before the route sees them.
  void note_removed_fields(const RouteConfig& route, const Reading& reading) {
    const auto stranger = std::find_if_not(config_.listeners.begin(), config_.listeners.end(),
                                           [](const auto& one) { return trusts_all(one); });
    if (stranger == config_.listeners.end()) return;
    const auto look = [&](std::string_view key, const std::string& name) {
      if (!is_trusted_field(name)) return;
      note(reading.place, std::string(key) + " of route " + route.name + " has " + name +
                              ", which is removed from requests of peers that trust of listener " +
                              stranger->name + " does not list");
    };
    for (const RouteMatch::Header& header : route.match.headers) look("match.headers", header.name);
    if (route.hash_policy) look("hash_policy", route.hash_policy->header);
    if (route.client_rate_limit) look("client_rate_limit", route.client_rate_limit->header);
  }

  // One note for each key or section that the route itself sets.
  void note_forwarding_keys(std::size_t i) {
    std::set<std::string_view> known(kAnswerKeys.begin(), kAnswerKeys.end());
    const auto look = [&](std::string_view path, SourceLocation place) {
      const std::string_view word = path.substr(0, path.find('.'));
      if (!known.insert(word).second) return;
      note(place, std::string(word) + " of route " + config_.routes[i].name +
                      " is not used: the route forwards nothing");
    };
    const Reading& own = places_.routes[i];
    for (std::size_t k = 0; k < own.sections.size(); ++k) {
      const auto& section = own.sections[k];
      if (section && section->on) look(route_schema().sections()[k].path, section->place);
    }
    for (std::size_t k = 0; k < own.keys.size(); ++k) {
      if (own.keys[k]) look(route_schema().keys()[k].path, own.keys[k]->place);
    }
    const policy::Route& policy = policies_.routes[i];
    for (std::size_t k = 0; k < policy.origins.size(); ++k) {
      if (policy.origins[k] != policy::Origin::route) continue;
      look(policy::block_schema().keys()[k].path, policy.places[k]);
    }
  }

  void look_at(const ClusterConfig& cluster, const Reading& reading) {
    const Schema<ClusterConfig>& schema = cluster_schema();
    const std::string whose = "cluster " + cluster.name;
    if (!used_.contains(cluster.name)) {
      note(reading.place, whose + " is not used: no route goes to it");
    }
    if (!hashed_.contains(cluster.name)) {
      note_unused(schema, reading, "hash_balance_factor", whose,
                  "lb_policy is not consistent_hash");
    } else if (!keyed_.contains(cluster.name)) {
      note(schema.place_of(reading, "lb_policy"),
           "consistent_hash of " + whose +
               " is not used: no route to it has a hash_policy, so its requests have no key");
    }
    if (!cluster.zones.empty() && config_.zone.empty()) {
      note(
          schema.place_of(reading, "zones"),
          "zones of " + whose + " is not used: the proxy has no zone of its own (zone, or --zone)");
    }
    if (cluster.health_check) look_at_health(*cluster.health_check, whose, reading);
    for (const std::string_view key : {"dns_min_refresh_rate", "dns_max_refresh_rate"}) {
      if (!cluster.dns.respect_ttl) {
        note_unused(schema, reading, key, whose, "respect_dns_ttl is false");
      }
    }
    if (cluster.dns.respect_ttl) {
      note_unused(schema, reading, "dns_refresh_rate", whose, "respect_dns_ttl is true");
    }
    if (!cluster.endpoints.front().starts_with("https")) look_at_unused_tls(whose, reading);
  }

  void look_at_health(const HealthCheckOptions& checks, const std::string& whose,
                      const Reading& reading) {
    const Schema<ClusterConfig>& schema = cluster_schema();
    if (checks.interval < checks.timeout) {
      note(schema.place_of(reading, "health_checks.interval"),
           "health_checks of " + whose +
               " has a timeout over its interval: a replica that hangs is probed without a pause "
               "of its own, and found after unhealthy_threshold timeouts");
    }
    const std::string why =
        "type is " + std::string(kHealthCheckTypeNames[static_cast<std::size_t>(checks.type)]);
    const auto unless = [&](bool uses, std::string_view key) {
      if (!uses) note_unused(schema, reading, key, whose, why);
    };
    unless(checks.type == HealthCheckType::http, "health_checks.path");
    unless(checks.type == HealthCheckType::http, "health_checks.expected_statuses");
    unless(checks.type != HealthCheckType::tcp, "health_checks.host");
    unless(checks.type == HealthCheckType::grpc, "health_checks.service");
  }

  // The endpoints are of http: the first key of tls that the file sets.
  void look_at_unused_tls(const std::string& whose, const Reading& reading) {
    for (const config::Key& key : cluster_schema().keys()) {
      if (!key.path.starts_with("tls.") || !is_set(cluster_schema(), reading, key.path)) continue;
      return note(cluster_schema().place_of(reading, key.path),
                  "tls of " + whose + " is not used: its endpoints are of http");
    }
  }

  void look_at_file() {
    const auto place = [&](std::string_view key) {
      return proxy_schema().place_of(places_.proxy, key);
    };
    if (config_.access_log == AccessLog::off && !config_.access_log_file.empty()) {
      note(place("access_log_file"), "access_log_file is not used: access_log is off");
    }
    if (config_.access_layout.format == AccessFormat::combined &&
        config_.access_layout.fields != AccessLayout::kAll) {
      note(place("access_log_fields"),
           "access_log_fields is not used: access_log_format is combined");
    }
    if (config_.tracing && !config_.tracing->ca_file.empty() &&
        config_.tracing->collector.starts_with("http:")) {
      note(place("tracing.ca_file"), "ca_file of tracing is not used: the collector is of http");
    }
    if (const auto& tracing = config_.tracing;
        tracing && tracing->max_batch > tracing->queue &&
        is_set(proxy_schema(), places_.proxy, "tracing.max_batch_size")) {
      note(place("tracing.max_batch_size"),
           "max_batch_size of tracing is " + std::to_string(tracing->max_batch) +
               ", which is never reached: max_queue_size is " + std::to_string(tracing->queue));
    }
  }

  const ProxyConfig& config_;
  const ProxyPlaces& places_;
  const policy::PolicyFile& policies_;
  const std::set<std::string_view> hashed_;
  std::set<std::string_view> used_{};
  std::set<std::string_view> keyed_{};  // requests with a key go to them
  std::vector<config::Note> notes_{};
};

}  // namespace

std::vector<config::Note> notes_of(const ProxyConfig& config, const ProxyPlaces& places,
                                   const policy::PolicyFile& policies) {
  return NoteTaker(config, places, policies).take();
}

}  // namespace damper::proxy
