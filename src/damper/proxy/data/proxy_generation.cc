#include "damper/proxy/data/proxy_generation.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/client/url.h"
#include "damper/http/net/unix_address.h"
#include "damper/http/server/local_access.h"

namespace damper::proxy {
namespace {

using Sockets = std::shared_ptr<ListenerSockets>;

// Of the generation in force: the sockets that listen where this listener does.
const ProxyGeneration::Listener* find_kept(const ProxyGeneration* in_force,
                                           const ListenerConfig& wanted) {
  if (in_force == nullptr) return nullptr;
  for (std::size_t i = 0; i < in_force->listeners.size(); ++i) {
    const ListenerConfig& old = in_force->config->listeners[i];
    const ProxyGeneration::Listener& listener = in_force->listeners[i];
    if (old.address != wanted.address) continue;
    if (http::UnixAddress::is_unix(old.address)) {
      return listener.sockets->has_lost_file() ? nullptr : &listener;
    }
    const bool same = (old.port == wanted.port && old.name == wanted.name) ||
                      (wanted.port != 0 && listener.sockets->port() == wanted.port);
    if (same) return &listener;
  }
  return nullptr;
}

// By name, on the same port (or whichever, for port 0 and systemd's); else those bound to the same
// place.
std::vector<int> find_inherited(const std::vector<InheritedSocket>& inherited,
                                const ListenerConfig& wanted) {
  std::vector<int> fds;
  for (const auto& socket : inherited) {
    const auto bound = find_bound(socket.fd);
    const bool is_unix = http::UnixAddress::is_unix(wanted.address);
    const bool right_port =
        socket.any_port || (bound && bound->host == wanted.address && is_unix) ||
        (!is_unix && wanted.port == 0) || (!is_unix && bound && bound->port == wanted.port);
    if (socket.listener == wanted.name && right_port) fds.push_back(socket.fd);
  }
  if (!fds.empty()) return fds;
  for (const auto& socket : inherited) {
    const http::ListenAddress place{wanted.address, wanted.port};
    const bool is_fixed = wanted.port != 0 || http::UnixAddress::is_unix(wanted.address);
    if (is_fixed && find_bound(socket.fd) == place) fds.push_back(socket.fd);
  }
  return fds;
}

Expected<Sockets> open_sockets(const ListenerConfig& wanted, std::size_t loops,
                               const std::vector<InheritedSocket>& inherited) {
  const std::vector<int> fds = find_inherited(inherited, wanted);
  const bool is_unix = http::UnixAddress::is_unix(wanted.address);
  auto made = !fds.empty() ? ListenerSockets::adopt(fds, loops)
              : is_unix    ? ListenerSockets::bind_unix(wanted.address, wanted.mode, loops)
                           : ListenerSockets::bind(wanted.address, wanted.port, loops);
  if (!made) return unexpected("listener " + wanted.name + ": " + made.error());
  // The file of systemd's socket is systemd's.
  const bool given = std::any_of(inherited.begin(), inherited.end(), [&](const auto& one) {
    return one.any_port && std::find(fds.begin(), fds.end(), one.fd) != fds.end();
  });
  if (is_unix && !fds.empty() && !given) made->inherit_file();
  return std::make_shared<ListenerSockets>(*std::move(made));
}

// By the bound addresses: an inherited socket may be bound elsewhere than the file says.
bool is_loopback(const ListenerSockets& sockets) {
  return std::all_of(sockets.fds().begin(), sockets.fds().end(), [](int fd) {
    const auto bound = find_bound(fd);
    return bound && (http::is_loopback(bound->host) || http::UnixAddress::is_unix(bound->host));
  });
}

// Behind a load balancer of connections a loopback address says nothing about the clients.
ListenerRules rules_of(const ListenerConfig& listener, const ListenerSockets& sockets) {
  const bool is_local = peers_of(listener.proxy_protocol).is_empty() && is_loopback(sockets);
  return {.trust = Trust::of(listener.trust, is_local), .paths = listener.paths};
}

// Opened anew each time: a log that was rotated goes on in the new file.
Expected<std::shared_ptr<const int>> open_log(const ProxyConfig& config) {
  if (config.access_log_file.empty()) return std::make_shared<const int>(STDOUT_FILENO);
  const int fd = ::open(config.access_log_file.c_str(),
                        O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fd < 0) {
    return unexpected("access_log_file " + config.access_log_file +
                      " cannot be opened: " + std::generic_category().message(errno));
  }
  return std::shared_ptr<const int>(new int(fd), [](const int* owned) {
    ::close(*owned);
    delete owned;
  });
}

// The exporter of the generation in force, if its options stay.
Expected<std::shared_ptr<http::TraceExporter>> share_tracing(
    const ProxyConfig& config, const ProxyGeneration::Context& context) {
  if (!config.tracing) return std::shared_ptr<http::TraceExporter>();
  if (context.in_force != nullptr && context.in_force->tracing != nullptr &&
      context.in_force->tracing->options() == *config.tracing) {
    return context.in_force->tracing;
  }
  if (auto why = find_tracing_ca_error(config)) return unexpected(*std::move(why));
  try {
    return std::make_shared<http::TraceExporter>(*config.tracing, context.loops);
  } catch (const std::system_error& failed) {
    return unexpected(std::string("tracing: cannot start a thread: ") + failed.what());
  }
}

template <class Shared, class Same>
std::shared_ptr<Shared> find_shared(const std::vector<std::shared_ptr<Shared>>& all, Same same) {
  const auto found = std::find_if(all.begin(), all.end(), same);
  return found == all.end() ? nullptr : *found;
}

// The gate of a route that stays, or a new one.
std::shared_ptr<SharedAdmission> share_gate(const RouteConfig& config,
                                            const std::shared_ptr<SharedRoute>& route,
                                            const ProxyGeneration::Context& context) {
  if (context.in_force != nullptr) {
    const auto& before = context.in_force->routes;
    const auto found = std::find(before.begin(), before.end(), route);
    if (found != before.end()) {
      const auto& gate = context.in_force->gates[static_cast<std::size_t>(found - before.begin())];
      if (gate != nullptr) return gate;
    }
  }
  return std::make_shared<SharedAdmission>(*config.admission, context.loops);
}

// The table of a route that stays, unless its size has changed; or a new one.
std::shared_ptr<http::ClientRates> share_client_rates(const RouteConfig& config,
                                                      const std::shared_ptr<SharedRoute>& route,
                                                      const ProxyGeneration* in_force) {
  if (!config.client_rate_limit) return nullptr;
  const http::ClientRateOptions& options = config.client_rate_limit->rates;
  for (std::size_t i = 0; in_force != nullptr && i < in_force->routes.size(); ++i) {
    const auto& old = in_force->route_configs[i]->client_rate_limit;
    const bool stays = in_force->routes[i]->rate() == route->rate();  // Of the same route.
    if (!stays || !old || old->rates.max_clients != options.max_clients) continue;
    return in_force->client_rates[i];
  }
  return std::make_shared<http::ClientRates>(options);
}

// The counts of a listener that stays, or new ones.
std::shared_ptr<http::ClientConnections> share_clients(const ListenerConfig& config,
                                                       const ProxyGeneration::Listener* kept) {
  if (config.max_connections_per_client == 0) return nullptr;
  if (kept != nullptr && kept->clients != nullptr) return kept->clients;
  return std::make_shared<http::ClientConnections>(config.max_connections_per_client);
}

// A route, or one of its weighted clusters: that of `old` if it stays, else a new one.
void share_route(ProxyGeneration& made, const ProxyGeneration& old, const RouteConfig& route,
                 const std::string& cluster_name, const ProxyGeneration::Context& context,
                 Instant now) {
  const std::string name =
      route.weighted_clusters.empty() ? route.name : split_name(route.name, cluster_name);
  auto shared = find_shared(old.routes, [&](const auto& one) {
    return one->name() == name && one->cluster().name() == cluster_name;
  });
  if (shared == nullptr) {
    auto cluster =
        find_shared(made.clusters, [&](const auto& one) { return one->name() == cluster_name; });
    if (!route.forwards()) {  // Its calls are none: nothing is shared.
      cluster = std::make_shared<SharedCluster>(ClusterConfig{}, &context.budget, now);
    }
    DAMPER_CHECK(cluster != nullptr);
    const auto same = [&](const auto& one) { return one->route() == route.name; };
    auto other = find_shared(old.routes, same);
    if (other == nullptr) other = find_shared(made.routes, same);
    shared = std::make_shared<SharedRoute>(route, std::move(cluster), now,
                                           other == nullptr ? nullptr : other->rate());
    shared->dependency().report_to(context.events);
  }
  const bool is_first = made.route_configs.empty() || made.route_configs.back() != &route;
  made.client_rates.push_back(is_first ? share_client_rates(route, shared, context.in_force)
                                       : made.client_rates.back());
  made.gates.push_back(route.admission ? share_gate(route, shared, context) : nullptr);
  made.routes.push_back(std::move(shared));
  made.route_configs.push_back(&route);
}

// Clusters and routes: those of the one in force, as far as they stay, else new ones.
void share(ProxyGeneration& made, const ProxyGeneration::Context& context, Instant now) {
  static const ProxyGeneration kNothing;
  const ProxyGeneration& old = context.in_force == nullptr ? kNothing : *context.in_force;
  for (const ClusterConfig& cluster : made.config->clusters) {
    auto shared =
        find_shared(old.clusters, [&](const auto& one) { return one->name() == cluster.name; });
    if (shared == nullptr) shared = std::make_shared<SharedCluster>(cluster, &context.budget, now);
    made.clusters.push_back(std::move(shared));
  }
  for (const RouteConfig& route : made.config->routes) {
    if (route.weighted_clusters.empty()) share_route(made, old, route, route.cluster, context, now);
    for (const ClusterWeight& one : route.weighted_clusters) {
      share_route(made, old, route, one.cluster, context, now);
    }
  }
}

}  // namespace

Expected<std::shared_ptr<ProxyGeneration>> ProxyGeneration::prepare(
    const ProxyConfig& config, const Context& context,
    const std::vector<InheritedSocket>& inherited, Instant now) {
  auto made = std::make_shared<ProxyGeneration>();
  made->config = std::make_shared<const ProxyConfig>(config);
  made->loops = context.loops;
  made->kept = context.in_force != nullptr ? context.in_force->kept
                                           : std::make_shared<KeptBytes>(config.max_kept_bytes);
  made->held = context.in_force != nullptr ? context.in_force->held
                                           : std::make_shared<admit::Quota>(config.max_held);
  auto log = open_log(config);
  if (!log) return unexpected(log.error());
  made->log = *std::move(log);
  for (const ClusterConfig& cluster : config.clusters) {
    made->client_stamps.push_back(stamp_files(tls_files(cluster)));  // Before they are read.
    auto tls = make_client_tls(cluster);
    if (!tls) return unexpected(locate_tls_error(config, cluster, tls.error()));
    made->client_tls.push_back(*std::move(tls));
  }
  for (const ListenerConfig& listener : config.listeners) {
    const Listener* const kept = find_kept(context.in_force, listener);
    auto keys = kept != nullptr ? kept->keys : std::make_shared<http::TicketKeys>();
    FileStamps stamps = stamp_files(tls_files(listener));
    auto tls = make_server_tls(listener, keys);
    if (!tls) return unexpected(locate_tls_error(config, listener, tls.error()));
    made->listeners.push_back({.sockets = nullptr,
                               .tls = *std::move(tls),
                               .stamps = std::move(stamps),
                               .keys = std::move(keys)});
  }
  for (std::size_t i = 0; i < config.listeners.size(); ++i) {
    Listener& listener = made->listeners[i];
    const Listener* const kept = find_kept(context.in_force, config.listeners[i]);
    listener.clients = share_clients(config.listeners[i], kept);
    if (kept != nullptr) {
      listener.sockets = kept->sockets;
      listener.metrics = kept->metrics;
      listener.quota = kept->quota;
      listener.rules = rules_of(config.listeners[i], *listener.sockets);
      continue;
    }
    auto sockets = open_sockets(config.listeners[i], context.loops, inherited);
    if (!sockets) return unexpected(sockets.error());
    listener.sockets = *std::move(sockets);
    listener.quota = std::make_shared<admit::Quota>(config.listeners[i].max_connections);
    listener.rules = rules_of(config.listeners[i], *listener.sockets);
  }
  auto tracing = share_tracing(config, context);
  if (!tracing) return unexpected(tracing.error());
  made->tracing = *std::move(tracing);
  share(*made, context, now);
  return made;
}

std::optional<std::string> ProxyGeneration::listen() {
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    if (auto error = listeners[i].sockets->listen()) {
      return "listener " + config->listeners[i].name + ": " + *error;
    }
  }
  return std::nullopt;
}

void ProxyGeneration::commit(const Context& context, Instant now) {
  if (context.in_force == nullptr) return;
  const ProxyGeneration& old = *context.in_force;
  if (config->retry_budget != old.config->retry_budget) {
    context.budget.reload(config->retry_budget.value_or(unlimited_budget()), now);
  }
  kept->reload(config->max_kept_bytes);
  held->reload(config->max_held);
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    listeners[i].quota->reload(config->listeners[i].max_connections);
    listeners[i].sockets->set_mode(config->listeners[i].mode);
    if (listeners[i].clients != nullptr) {
      listeners[i].clients->reload(config->listeners[i].max_connections_per_client);
    }
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    for (std::size_t before = 0; before < old.clusters.size(); ++before) {
      if (old.clusters[before] != clusters[i]) continue;
      const auto& budget = config->clusters[i].retry_budget;
      if (budget != old.config->clusters[before].retry_budget) {
        clusters[i]->reload(config->clusters[i], now);
      }
    }
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    for (std::size_t before = 0; before < old.routes.size(); ++before) {
      if (old.routes[before]->rate() != routes[i]->rate()) continue;  // Of another route.
      const RouteConfig& was = *old.route_configs[before];
      const RouteConfig& is = *route_configs[i];
      if (was.rate_limit != is.rate_limit) routes[i]->rate()->reload(is, now);
      if (client_rates[i] != nullptr && was.client_rate_limit != is.client_rate_limit) {
        client_rates[i]->reload(is.client_rate_limit->rates.bucket, now);
      }
      if (old.routes[before] != routes[i]) continue;
      // An unchanged route is not reloaded: that would send an event.
      if (was.settings.policy != is.settings.policy || was.rate_limit != is.rate_limit) {
        routes[i]->reload(is, now);
      }
      routes[i]->set_max_tunnels(is.max_tunnels);
      if (was.admission && is.admission && was.admission != is.admission) {
        gates[i]->reload(*is.admission);
      }
    }
  }
}

}  // namespace damper::proxy
