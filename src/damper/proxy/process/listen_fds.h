#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// Listening sockets that another process opened for this one: systemd (a .socket unit), or the
// process that this one replaces. Both use the protocol of sd_listen_fds(3): LISTEN_PID is the
// process that the sockets are for, LISTEN_FDS their number from descriptor 3 on, LISTEN_FDNAMES
// their names with a colon between them.

inline constexpr int kFirstListenFd = 3;
// Of 64 listeners with a socket for each of 256 loops, and the admin pages'.
inline constexpr int kMostListenFds = 64 * 256 + 1;

struct ListenFd {
  std::string name;  // of its listener; systemd's default is the unit's: "damper.socket"
  int fd = -1;
  http::ListenAddress bound{};
};

// The names of the sockets, from the values of the three variables; empty: none is for this
// process. One sentence if the values are invalid: then no descriptor may be taken for a socket.
[[nodiscard]] Expected<std::vector<std::string>> parse_listen_fds(const char* pid,
                                                                  const char* count,
                                                                  const char* names,
                                                                  std::int64_t own_pid);
// The names as LISTEN_FDNAMES has them. A colon in a name is written %3A, a percent sign %25.
[[nodiscard]] std::string join_fd_names(const std::vector<std::string>& names);

// Takes the sockets that are for this process, once: the variables are unset, the descriptors
// closed on exec. Each is a listening TCP socket, else one sentence, and nothing was taken.
//
// Thread safety: none; before there are threads, since it changes the environment.
[[nodiscard]] Expected<std::vector<ListenFd>> take_listen_fds();

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
