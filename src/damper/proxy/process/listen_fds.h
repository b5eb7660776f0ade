#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"

namespace damper::proxy {

// Listening sockets that another process opened for us: systemd (a .socket unit), or the process
// whose place we take. Both by one protocol, that of sd_listen_fds(3), written anew: LISTEN_PID
// is whom they are for, LISTEN_FDS how many there are from descriptor 3 on, LISTEN_FDNAMES their
// names with a colon between them.

inline constexpr int kFirstListenFd = 3;
// Of 64 listeners with a socket for each of 256 loops, and the admin pages'.
inline constexpr int kMostListenFds = 64 * 256 + 1;

// Where a socket is bound. The address is as the kernel writes it: "127.0.0.1", "::".
struct BoundTo {
  std::string address;
  std::uint16_t port = 0;
};

struct ListenFd {
  std::string name;  // of its listener; systemd's default is the unit's: "damper.socket"
  int fd = -1;
  BoundTo bound{};
};

// What the three variables say. Nothing is for us: empty. One sentence when they make no sense:
// then nothing may be taken for a socket.
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

// Whether another process listens there already. Why ask: our own sockets share a port among loops
// (SO_REUSEPORT), and would share it with another proxy of the same user without a word. Port 0 is
// never taken.
[[nodiscard]] bool is_taken(const BoundTo& place);

// Where a descriptor listens; nothing when it is no listening TCP socket.
[[nodiscard]] std::optional<BoundTo> find_bound(int fd);

}  // namespace damper::proxy
