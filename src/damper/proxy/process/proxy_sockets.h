#ifndef DAMPER_PROXY_PROCESS_PROXY_SOCKETS_H_
#define DAMPER_PROXY_PROCESS_PROXY_SOCKETS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/data/proxy.h"
#include "damper/proxy/process/listen_fds.h"

namespace damper::proxy {

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
  std::vector<InheritedSocket> listeners;
  std::optional<int> admin;
  std::vector<ListenFd> nobodys;
};
inline constexpr std::string_view kAdminSocket = "damper-admin";
[[nodiscard]] SocketMatch match_sockets(const ProxyConfig& config,
                                        const std::vector<ListenFd>& sockets,
                                        const SocketSource& from = {});

// A place that has to be bound and where another process listens already: one sentence. Asked once,
// at the start: a reload keeps its sockets, and another process gives us its own.
[[nodiscard]] std::optional<std::string> find_taken(const ProxyConfig& config,
                                                    const SocketMatch& match);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_SOCKETS_H_
