#include "damper/proxy/process/proxy_settings.h"

#include <algorithm>
#include <limits>
#include <ostream>
#include <utility>

#include "damper/http/server/listen_address.h"
#include "damper/policy/file/policy_file.h"
#include "damper/proxy/control/fleet_control.h"

namespace damper::proxy {
namespace {

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

// The bound of each listener if together they have `most`: those that want less than an even share
// leave the rest to the others. Why not one count for all: the clients of a public listener could
// take it, and none would be left for the listener of a health check.
std::size_t fair_share(const std::vector<ListenerConfig>& listeners, std::size_t most) {
  std::vector<std::size_t> wanted;
  wanted.reserve(listeners.size());
  for (const ListenerConfig& listener : listeners) wanted.push_back(listener.max_connections);
  std::sort(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t share = most / (wanted.size() - i);
    if (wanted[i] > share) return std::max<std::size_t>(share, 1);
    most -= wanted[i];
  }
  return std::numeric_limits<std::size_t>::max();
}

void bound_connections(ProxyConfig& config, std::size_t most, std::string_view name) {
  const std::size_t share = fair_share(config.listeners, most);
  for (ListenerConfig& listener : config.listeners) {
    if (listener.max_connections <= share) continue;
    config.notes.push_back({.file = std::string(name),
                            .place = {},
                            .sentence = "listeners." + listener.name + ".max_connections is " +
                                        std::to_string(listener.max_connections) +
                                        "; the limit of file descriptors allows " +
                                        std::to_string(share) + " (ulimit -n)"});
    listener.max_connections = share;
  }
}

// The URL for a client on this machine.
std::string reach(const ListenerConfig& listener, std::uint16_t port) {
  if (const auto path = http::UnixAddress::parse(listener.address)) {
    const bool is_file = !path->path().empty();
    return (is_file ? "--unix-socket " + path->path()
                    : "--abstract-unix-socket " + path->text().substr(6)) +
           (listener.tls ? " https://localhost" : " http://localhost");
  }
  std::string address = listener.address;
  if (address == "0.0.0.0") address = "127.0.0.1";
  if (address == "::") address = "::1";
  return (listener.tls ? "https://" : "http://") +
         http::ListenAddress{.host = address, .port = port}.text();
}

}  // namespace

Expected<std::string> read_proxy_file(const ProxySettings& settings) {
  if (settings.file.empty()) return std::string();
  auto text = policy::read_file(settings.file);
  if (!text) return unexpected(to_string(text.error()));
  return *std::move(text);
}

Expected<ProxyConfig> make_proxy_config(const ProxySettings& settings, std::string_view text,
                                        std::string_view name) {
  Flags flags = settings.flags;
  flags.default_admin = true;
  auto loaded = load_proxy(text, name, flags);
  if (!loaded) return unexpected(to_string(loaded.error()));
  ProxyConfig config = *std::move(loaded);
  if (settings.threads) config.threads = *settings.threads;
  if (settings.access_log) config.access_log = *settings.access_log;
  if (settings.drain_time) config.drain_time = *settings.drain_time;
  bound_connections(config, settings.most_connections, name);
  config.max_held = settings.most_held;
  return config;
}

std::string count_parts(const ProxyConfig& config) {
  return counted(config.listeners.size(), "listener") + ", " +
         counted(config.clusters.size(), "cluster") + ", " + counted(config.routes.size(), "route");
}

std::string describe_start(const ProxyConfig& config, const std::vector<std::uint16_t>& ports,
                           std::optional<std::uint16_t> admin_port) {
  std::string out;
  for (std::size_t i = 0; i < config.listeners.size(); ++i) {
    const ListenerConfig& listener = config.listeners[i];
    out += "  listens  " + listener.name + ": " +
           http::ListenAddress{.host = listener.address, .port = ports[i]}.text() +
           (listener.tls ? " (TLS)\n" : "\n");
  }
  for (const ClusterConfig& cluster : config.clusters) {
    out += "  sends    " + cluster.name + ':';
    constexpr std::size_t kShown = 4;
    for (std::size_t i = 0; i < std::min(cluster.endpoints.size(), kShown); ++i) {
      out += ' ' + cluster.endpoints[i];
    }
    if (cluster.endpoints.size() > kShown) {
      out += " and " + std::to_string(cluster.endpoints.size() - kShown) + " more";
    }
    out += '\n';
  }
  if (admin_port) {
    const std::string at =
        http::ListenAddress{.host = config.admin->address, .port = *admin_port}.text();
    const bool usual = at == "127.0.0.1:9901";  // The default of damper ctl.
    out += "  admin    http://" + at + "/  (damper ctl " + (usual ? "" : "--admin " + at + ' ') +
           "status)\n";
  }
  if (!config.listeners.empty()) {
    const bool own_certificate = config.listeners[0].tls.has_value();
    out += "  try      curl -i " + std::string(own_certificate ? "-k " : "") +
           reach(config.listeners[0], ports[0]) + "/\n";
  }
  return out;
}

Expected<std::vector<ProxyChoice>> find_choices(const ProxySettings& settings,
                                                FleetControl* control, Duration within,
                                                std::ostream& err) {
  auto text = read_proxy_file(settings);
  if (!text) return unexpected(text.error());
  const std::string name = settings.file.empty() ? "the command line" : settings.file;
  std::vector<ProxyChoice> out;
  if (control != nullptr) {
    if (const auto why = control->load()) err << "damper: " << *why << '\n';
    const std::optional<std::string> copy = control->good_policy();
    if (const auto why = control->read_first(within)) {
      err << "damper: " << settings.control << " does not answer (" << *why << "): starting with "
          << (copy ? "the copy in " + settings.state_dir : name) << '\n';
    }
    const std::optional<std::string>& policy = control->fleet().policy;
    if (policy) out.push_back({*policy, settings.control, true});
    if (copy && copy != policy) out.push_back({*copy, settings.state_dir, true});
  }
  out.push_back({*std::move(text), name});
  return out;
}

}  // namespace damper::proxy
