#ifndef DAMPER_PROXY_PROCESS_PROXY_ADMIN_H_
#define DAMPER_PROXY_PROCESS_PROXY_ADMIN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "damper/proxy/admin/administered_proxy.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/listener_sockets.h"

namespace damper::proxy {

// A ProxyAdmin is the admin pages of a process: their socket, and the server behind it.
//
// Why the socket apart: it is bound before the proxy serves, since a proxy that serves and then
// ends would lose what it has accepted; and the process that replaces this one is given it. Model:
// bind(), start(), close(). What a reload says of it: the token file is another one from the next
// request on; the address stays until a restart. Without admin pages in the configuration nothing
// is done. Thread safety: find_error() and use() may be called by any thread, the rest by whoever
// made it.
class ProxyAdmin {
 public:
  using Reload = AdministeredProxy::Reload;

  ProxyAdmin() = default;
  ProxyAdmin(const ProxyAdmin&) = delete;
  ProxyAdmin& operator=(const ProxyAdmin&) = delete;
  ~ProxyAdmin() { close(); }

  // Binds what the configuration says, or takes a duplicate of a socket that listens there. One
  // sentence: why not, and there is none.
  [[nodiscard]] std::optional<std::string> bind(const ProxyConfig& config,
                                                std::optional<int> inherited);
  // Answers from now on. The proxy and the feed outlive it. One sentence: why not.
  // REQUIRES: the proxy runs with the configuration that was bound.
  [[nodiscard]] std::optional<std::string> start(Proxy& proxy, EventFeed& feed, Reload reload);
  // Nobody is answered any more; the socket is closed, but for those who have a duplicate.
  void close();

  // One sentence: what the next configuration says cannot be used. Only what differs is looked at.
  [[nodiscard]] std::optional<std::string> find_error(const ProxyConfig& next) const;
  // The next configuration is in force. One sentence: the token file went away meanwhile, and the
  // one before stays.
  [[nodiscard]] std::optional<std::string> use(const ProxyConfig& next);

  // Nothing: there are no admin pages.
  [[nodiscard]] std::optional<int> fd() const;
  [[nodiscard]] std::optional<std::uint16_t> port() const;

 private:
  // Whether there is a token file in it that is not the one in force. REQUIRES: the lock.
  [[nodiscard]] bool has_other_token(const ProxyConfig& next) const;

  std::optional<ListenerSockets> socket_;
  std::optional<AdministeredProxy> administered_;
  mutable std::mutex mutex_;  // for what follows
  std::string token_file_;
  std::unique_ptr<AdminServer> server_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_PROXY_ADMIN_H_
