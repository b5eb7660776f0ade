#include "damper/proxy/process/proxy_sockets.h"

#include <algorithm>

#include "damper/proxy/data/listener_sockets.h"

namespace damper::proxy {

SocketMatch match_sockets(const ProxyConfig& config, const std::vector<ListenFd>& sockets,
                          const SocketSource& from) {
  SocketMatch out;
  const auto is_at = [](const auto& wanted, const BoundTo& bound) {
    return wanted.port == bound.port && wanted.address == bound.address;
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
             (any_port(listener.name) || listener.port == 0 || listener.port == socket.bound.port);
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
  const auto taken = [](const std::string& address, std::uint16_t port, const char* hint) {
    return is_taken({address, port}) ? std::optional("cannot listen on " + place_of(address, port) +
                                                     ": another process listens there; " + hint)
                                     : std::nullopt;
  };
  for (const ListenerConfig& listener : config.listeners) {
    const bool given = std::any_of(match.listeners.begin(), match.listeners.end(),
                                   [&](const auto& one) { return one.listener == listener.name; });
    if (given) continue;
    if (auto why = taken(listener.address, listener.port, "stop it, or choose another port")) {
      return why;
    }
  }
  if (!config.admin || match.admin) return std::nullopt;
  return taken(config.admin->address, config.admin->port,
               "pass --admin ADDRESS:PORT or --admin off");
}

}  // namespace damper::proxy
