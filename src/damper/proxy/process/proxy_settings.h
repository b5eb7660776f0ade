#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/tls/tls_settings.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The command line of `damper proxy`.
struct ProxySettings {
  std::string file{};  // -c; empty: none
  Flags flags{};       // --listen, --to, --admin, --token-file
  std::optional<std::uint32_t> threads{};
  std::optional<AccessLog> access_log{};
  std::optional<Duration> drain_time{};
  std::string control{};                 // etcd://...
  http::TlsClientOptions control_tls{};  // for etcds://
  std::string state_dir{};               // for the last good copy of the fleet's policy
  observe::LogFormat log_format = observe::LogFormat::logfmt;
  // What the process's file descriptors allow. See most_connections() and most_held().
  std::size_t most_connections = std::numeric_limits<std::size_t>::max();
  std::size_t most_held = std::numeric_limits<std::size_t>::max();
};

// How many of `descriptors` the connections of all listeners may take: three quarters, and at least
// one. The rest is for connections to upstreams.
[[nodiscard]] constexpr std::size_t most_connections(std::size_t descriptors) noexcept {
  return std::max<std::size_t>(descriptors - descriptors / 4, 1);
}
// How many of `descriptors` the held connections to upstreams may take (max_held_connections): an
// eighth, so that an eighth is left for dials, and at least one.
[[nodiscard]] constexpr std::size_t most_held(std::size_t descriptors) noexcept {
  return std::max<std::size_t>(descriptors / 8, 1);
}

// The configuration of a file's text and the flags; a flag overrides the file. An empty text is the
// configuration of the flags alone. Errors use `name` for the text. The listeners' max_connections
// together are at most settings.most_connections, or one each: the largest ones are reduced to one
// bound, with a note for each.
[[nodiscard]] Expected<ProxyConfig> make_proxy_config(const ProxySettings& settings,
                                                      std::string_view text, std::string_view name);
// The current text of the settings' file; empty without a file.
[[nodiscard]] Expected<std::string> read_proxy_file(const ProxySettings& settings);

// "2 listeners, 1 cluster, 3 routes"
[[nodiscard]] std::string count_parts(const ProxyConfig& config);

// The text printed at the start: listeners, upstreams, the admin API, and a first command to try.
[[nodiscard]] std::string describe_start(const ProxyConfig& config,
                                         const std::vector<std::uint16_t>& ports,
                                         std::optional<std::uint16_t> admin_port);

class FleetControl;

// A configuration text that a proxy may start with, and its name in errors.
struct ProxyChoice {
  std::string text;
  std::string name;
  bool of_fleet = false;

  friend bool operator==(const ProxyChoice&, const ProxyChoice&) = default;
};

// The candidates for a start, in order of preference: the fleet's policy from etcd, its copy on
// disk, the file with the flags. One sentence: the file cannot be read.
//
// Why several: the fleet's policy may be invalid on this machine only (a taken port, a missing
// certificate), and the process has to start all the same.
// Model: without a control only the last. The copy is read, then etcd, for `within` at most; a
// failure is printed on `err` and skipped.
[[nodiscard]] Expected<std::vector<ProxyChoice>> find_choices(const ProxySettings& settings,
                                                              FleetControl* control,
                                                              Duration within, std::ostream& err);

}  // namespace damper::proxy
