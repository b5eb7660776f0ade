#ifndef DAMPER_PROXY_PROCESS_PROXY_SETTINGS_H_
#define DAMPER_PROXY_PROCESS_PROXY_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/net/tls_settings.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// What the command line of `damper proxy` says.
struct ProxySettings {
  std::string file{};      // -c; empty: none
  Flags flags{};           // --listen, --to, --admin
  bool admin_off = false;  // --admin off
  std::string token_file{};
  std::optional<std::uint32_t> threads{};
  std::optional<AccessLog> access_log{};
  std::optional<Duration> drain_time{};
  std::string control{};                 // etcd://...
  http::TlsClientOptions control_tls{};  // of etcds://
  std::string state_dir{};               // where the fleet's last good copy is kept
  observe::LogFormat log_format = observe::LogFormat::logfmt;
};

// The configuration that a file's text makes together with the flags: a flag goes before the file.
// Without a text, that of the flags alone. `name` is what errors call the text.
[[nodiscard]] Expected<ProxyConfig> make_proxy_config(const ProxySettings& settings,
                                                      std::string_view text, std::string_view name);
// The text that the settings' file holds now; empty when there is no file.
[[nodiscard]] Expected<std::string> read_proxy_file(const ProxySettings& settings);

// "2 listeners, 1 cluster, 3 routes"
[[nodiscard]] std::string count_parts(const ProxyConfig& config);

// What a person reads when it has started: where it listens, where it sends, where the admin page
// is, and what to try first.
[[nodiscard]] std::string describe_start(const ProxyConfig& config,
                                         const std::vector<std::uint16_t>& ports,
                                         std::optional<std::uint16_t> admin_port);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_SETTINGS_H_
