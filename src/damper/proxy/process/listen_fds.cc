#include "damper/proxy/process/listen_fds.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/data/listener_sockets.h"

namespace damper::proxy {
namespace {

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
  const auto whose = text::find_number<std::uint64_t>(pid);
  if (!whose) return unexpected("LISTEN_PID is not a process id: unset it, or start by systemd");
  if (*whose != static_cast<std::uint64_t>(own_pid)) return out;  // A child of whom they were for.
  const auto many = text::find_number<std::uint64_t>(count);
  if (!many || *many > std::uint64_t{kMostListenFds}) {
    return unexpected("LISTEN_FDS is not a number from 0 to " + std::to_string(kMostListenFds));
  }
  std::string_view rest = names != nullptr ? names : "";
  for (std::uint64_t i = 0; i < *many; ++i) {
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

Expected<std::vector<ListenFd>> take_listen_fds() {
  auto names = parse_listen_fds(std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"),
                                std::getenv("LISTEN_FDNAMES"), getpid());
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(variable);
  if (!names) return unexpected(names.error());
  std::vector<ListenFd> out;
  int fd = kFirstListenFd;
  for (std::string& name : *names) {
    auto bound = find_bound(fd);
    if (!bound || !is_listening(fd) || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return unexpected("descriptor " + std::to_string(fd) + " of LISTEN_FDS (" + name +
                        ") is not a listening stream socket: the .socket unit needs ListenStream= "
                        "with a port or a path, and no Accept=yes");
    }
    out.push_back({std::move(name), fd++, *std::move(bound)});
  }
  return out;
}

SocketMatch match_sockets(const ProxyConfig& config, const std::vector<ListenFd>& sockets,
                          const SocketSource& from) {
  SocketMatch out;
  const auto is_at = [](const auto& wanted, const http::ListenAddress& bound) {
    return wanted.port == bound.port && wanted.address == bound.host;
  };
  const auto any_port = [&](const std::string& listener) {
    return !from.predecessor ||
           std::find(from.given.begin(), from.given.end(), listener) != from.given.end();
  };
  for (const ListenFd& socket : sockets) {
    if (socket.name == kAdminSocket) {
      const bool right = config.admin && (!from.predecessor || config.admin->port == 0 ||
                                          is_at(*config.admin, socket.bound));
      if (right && !out.admin) {
        out.admin = socket.fd;
      } else {
        out.nobodys.push_back(socket);
      }
      continue;
    }
    const auto of = [&](auto is_it) {
      return std::find_if(config.listeners.begin(), config.listeners.end(), is_it);
    };
    auto whose = of([&](const auto& listener) {
      return listener.name == socket.name &&
             (any_port(listener.name) || is_at(listener, socket.bound) ||
              (!http::UnixAddress::is_unix(listener.address) &&
               !http::UnixAddress::is_unix(socket.bound.host) &&
               (listener.port == 0 || listener.port == socket.bound.port)));
    });
    if (whose == config.listeners.end()) {
      whose = of([&](const auto& listener) { return is_at(listener, socket.bound); });
    }
    const bool only = config.listeners.size() == 1 && sockets.size() == 1;
    if (whose == config.listeners.end() && only &&
        (!from.predecessor || config.listeners[0].port == 0)) {
      whose = config.listeners.begin();
    }
    if (whose == config.listeners.end()) {
      out.nobodys.push_back(socket);
    } else {
      out.listeners.push_back({whose->name, socket.fd, any_port(whose->name)});
    }
  }
  return out;
}

std::optional<std::string> find_taken(const ProxyConfig& config, const SocketMatch& match) {
  const auto taken = [](const http::ListenAddress& address, const char* hint) {
    return is_taken(address) ? std::optional("cannot listen on " + address.text() +
                                             ": another process listens there; " + hint)
                             : std::nullopt;
  };
  for (const ListenerConfig& listener : config.listeners) {
    const bool given = std::any_of(match.listeners.begin(), match.listeners.end(),
                                   [&](const auto& one) { return one.listener == listener.name; });
    if (given) continue;
    if (auto why = taken({listener.address, listener.port}, "stop it, or choose another port")) {
      return why;
    }
  }
  if (!config.admin || match.admin) return std::nullopt;
  return taken({config.admin->address, config.admin->port},
               "pass --admin ADDRESS:PORT or --admin off");
}

}  // namespace damper::proxy
