#ifndef DAMPER_CLI_PROXY_SETTINGS_H_
#define DAMPER_CLI_PROXY_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/cli/listen_fds.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/proxy.h"

namespace damper::cli {

// What the command line of `damper proxy` says.
struct ProxySettings {
  std::string file{};      // -c; empty: none
  proxy::Flags flags{};    // --listen, --to, --admin
  bool admin_off = false;  // --admin off
  std::string token_file{};
  std::optional<std::uint32_t> threads{};
  std::optional<proxy::AccessLog> access_log{};
  std::optional<Duration> drain_time{};
  std::string control{};    // etcd://...
  std::string state_dir{};  // where the fleet's last good copy is kept
  observe::LogFormat log_format = observe::LogFormat::logfmt;
};

// The configuration that a file's text makes together with the flags: a flag goes before the file.
// Without a text, that of the flags alone. `name` is what errors call the text.
[[nodiscard]] Expected<proxy::ProxyConfig> make_proxy_config(const ProxySettings& settings,
                                                             std::string_view text,
                                                             std::string_view name);
// The text that the settings' file holds now; empty when there is no file.
[[nodiscard]] Expected<std::string> read_proxy_file(const ProxySettings& settings);

// "2 listeners, 1 cluster, 3 routes"
[[nodiscard]] std::string count_parts(const proxy::ProxyConfig& config);

// Which socket is whose: by its listener's name, else by where it is bound, else the only one for
// the only listener. Those that are nobody's are in `nobodys`.
//
// Those of systemd are used whatever their port: the unit goes before the file. Those of a process
// that we replace are used on the port that the configuration says, which may have changed, unless
// `given` has the listener: then they were systemd's before.
struct SocketSource {
  bool predecessor = false;          // else systemd
  std::vector<std::string> given{};  // listeners whose sockets the predecessor had from systemd
};
struct SocketMatch {
  std::vector<proxy::InheritedSocket> listeners;
  std::optional<int> admin;
  std::vector<ListenFd> nobodys;
};
inline constexpr std::string_view kAdminSocket = "damper-admin";
[[nodiscard]] SocketMatch match_sockets(const proxy::ProxyConfig& config,
                                        const std::vector<ListenFd>& sockets,
                                        const SocketSource& from = {});

// What a person reads when it has started: where it listens, where it sends, where the admin page
// is, and what to try first.
[[nodiscard]] std::string describe_start(const proxy::ProxyConfig& config,
                                         const std::vector<std::uint16_t>& ports,
                                         std::optional<std::uint16_t> admin_port);

}  // namespace damper::cli

#endif  // DAMPER_CLI_PROXY_SETTINGS_H_
