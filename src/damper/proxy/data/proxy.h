#ifndef DAMPER_PROXY_DATA_PROXY_H_
#define DAMPER_PROXY_DATA_PROXY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/engine/event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::http {
class Resolver;
}

namespace damper::proxy {

// A listening socket that was handed over: by systemd, or by the process that we replace.
struct InheritedSocket {
  std::string listener;  // its name
  int fd = -1;
  bool any_port = false;  // it is the listener's of that name whatever it is bound to: systemd's
};

struct ProxyOptions {
  // For a listener of that name and port, or that listens where they are bound to. A proxy that has
  // started closes the descriptors, those that no listener wants included; else they are left.
  std::vector<InheritedSocket> inherited{};
  // Of clusters' names; used by one thread of the proxy's, and outlives it. nullptr: the system's.
  http::Resolver* resolver = nullptr;
  engine::EventSink* events = nullptr;  // who hears of transitions; outlives the proxy
};

// Reloads, by their `result`: who reads the file counts here what never came as far as reload().
inline constexpr std::string_view kReloadsMetric = "damper_proxy_reloads_total";
inline constexpr std::string_view kReloadsHelp = "Reloads, by what came of them.";

// A Proxy is the whole data plane: loops on threads of their own, their listeners, and what they
// share.
//
//   auto proxy = Proxy::start(config, options);
//   if (!proxy) ... proxy.error()
//   (*proxy)->reload(next);
//
// Model: as many Workers as threads, one ProxyGeneration in force. A reload prepares the next one
// beside it and then has every loop use it. How many loops there are is decided when it starts.
// Listeners are told apart by where they listen, so a new name keeps the socket; routes by name and
// cluster, clusters by name. A switch is of its scope's name: it stays off for a route that moves
// to another cluster, and for one that goes and comes back. Invariants:
//   (1) A reload drops no connection and no request; listeners that stay keep their sockets;
//       budgets, breakers, limits and latencies of routes and clusters that stay are continuous.
//   (2) A reload that fails (a port is taken, a certificate cannot be read) changes nothing; a
//       start that fails leaves nothing behind.
//   (3) A connection that the kernel has accepted when a drain begins is served.
// Thread safety: all methods may be called by any thread but the loops' own.
class Proxy {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<Proxy>, std::string> start(
      const ProxyConfig& config, const ProxyOptions& options);
  virtual ~Proxy() = default;  // Ends at once what is under way; drain() first.

  // One sentence says why it changed nothing. A socket that a loop cannot use after all, when the
  // rest is done, is closed and an event.
  [[nodiscard]] virtual std::optional<std::string> reload(const ProxyConfig& config) = 0;
  // No new connections; returns when all is done, or `within` is over. Sockets are closed; a
  // process that has inherited them goes on with them.
  virtual void drain(Duration within) = 0;

  [[nodiscard]] virtual std::shared_ptr<const ProxyConfig> config() const = 0;
  [[nodiscard]] virtual std::uint64_t version() const = 0;  // 1, and one more for each reload
  [[nodiscard]] virtual ProxyState state() = 0;             // asks every loop
  [[nodiscard]] virtual observe::Registry& registry() = 0;
  // Where it listens, for port 0, and for whoever takes the sockets over: the proxy's own
  // descriptors, good until drain() or a reload that drops the listener.
  [[nodiscard]] virtual std::vector<InheritedSocket> sockets() const = 0;
  [[nodiscard]] virtual std::uint16_t port(std::string_view listener) const = 0;

  // A switch of everything (scope ""), of "cluster/NAME" or of "route/NAME". One sentence: there is
  // no such scope.
  [[nodiscard]] virtual std::optional<std::string> flip(std::string_view scope, admit::Switch which,
                                                        const admit::SwitchSetting& setting) = 0;
  // As in state(), which waits for the loops: neither this nor flip() does.
  [[nodiscard]] virtual std::vector<ScopeState> switches() const = 0;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_PROXY_H_
