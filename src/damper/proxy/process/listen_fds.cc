#include "damper/proxy/process/listen_fds.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace damper::proxy {
namespace {

std::optional<std::int64_t> find_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view escape = text.substr(i, 3);
    if (escape == "%3A" || escape == "%25") {
      out += escape == "%3A" ? ':' : '%';
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Expected<std::vector<std::string>> parse_listen_fds(const char* pid, const char* count,
                                                    const char* names, std::int64_t own_pid) {
  std::vector<std::string> out;
  if (pid == nullptr || count == nullptr) return out;
  const auto whose = find_number(pid);
  if (!whose) return unexpected("LISTEN_PID is not a process id: unset it, or start by systemd");
  if (*whose != own_pid) return out;  // A child of whom they were for.
  const auto many = find_number(count);
  if (!many || *many > kMostListenFds) {
    return unexpected("LISTEN_FDS is not a number from 0 to " + std::to_string(kMostListenFds));
  }
  std::string_view rest = names != nullptr ? names : "";
  for (std::int64_t i = 0; i < *many; ++i) {
    const std::size_t end = rest.find(':');
    out.push_back(decoded(rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return out;
}

std::string join_fd_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty() || &name != names.data()) out += ':';
    for (const char c : name) out += c == ':' ? "%3A" : c == '%' ? "%25" : std::string(1, c);
  }
  return out;
}

std::optional<BoundTo> find_bound(int fd) {
  int listens = 0;
  int type = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return {};
  size = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return {};
  sockaddr_storage at{};
  size = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return BoundTo{text.data(), ntohs(v4.sin_port)};
  }
  if (at.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return BoundTo{text.data(), ntohs(v6.sin6_port)};
  }
  return {};
}

bool is_taken(const BoundTo& place) {
  if (place.port == 0) return false;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(place.port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(place.port);
  const bool is_v4 = inet_pton(AF_INET, place.address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, place.address.c_str(), &v6.sin6_addr) != 1) return false;
  const int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;  // Whoever listens then says why not.
  const int yes = 1;         // What has been closed of late does not count.
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int bound = is_v4 ? bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)
                          : bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  const bool taken = bound != 0 && errno == EADDRINUSE;
  close(fd);
  return taken;
}

Expected<std::vector<ListenFd>> take_listen_fds() {
  auto names = parse_listen_fds(std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"),
                                std::getenv("LISTEN_FDNAMES"), getpid());
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(variable);
  if (!names) return unexpected(names.error());
  std::vector<ListenFd> out;
  int fd = kFirstListenFd;
  for (std::string& name : *names) {
    auto bound = find_bound(fd);
    if (!bound || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return unexpected("descriptor " + std::to_string(fd) + " of LISTEN_FDS (" + name +
                        ") is not a listening TCP socket: the .socket unit needs ListenStream= "
                        "with a port, and no Accept=yes");
    }
    out.push_back({std::move(name), fd++, *std::move(bound)});
  }
  return out;
}

}  // namespace damper::proxy
