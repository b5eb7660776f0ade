#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/data/proxy.h"
#include "damper/proxy/process/listen_fds.h"

namespace damper::proxy {

// Assigns inherited sockets to listeners: by the listener's name, else by the bound address, else
// the only socket to the only listener. The rest is in `nobodys`.
//
// A socket from systemd is used whatever its port: the unit overrides the file. A socket from a
// predecessor is used only on the configured port, which may have changed, unless `given` has the
// listener: then it was systemd's before.
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

// One sentence if another process listens on an address that has to be bound. For the start only:
// a reload keeps its sockets, and a successor inherits them.
[[nodiscard]] std::optional<std::string> find_taken(const ProxyConfig& config,
                                                    const SocketMatch& match);

}  // namespace damper::proxy
