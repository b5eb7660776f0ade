#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "damper/proxy/admin/admin_pages.h"
#include "damper/proxy/admin/admin_server.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/listener_sockets.h"

namespace damper::proxy {

class EventFeed;
class Proxy;

// A ProxyAdmin is the admin API of a process: its socket, the server behind it, and the proxy that
// it shows and controls.
//
// Why a socket of its own: it is bound before the proxy serves, so that a failure is found before
// the first connection is accepted; and a successor inherits it.
// Model: bind(), start(), close(). A reload replaces the token file from the next request on; the
// address stays until a restart. Without `admin` in the configuration all of them do nothing.
// Thread safety: find_error() and use() may be called by any thread, and AdminTarget's methods by
// the admin server's; the rest by the owner.
class ProxyAdmin final : public AdminTarget {
 public:
  // Reloads the configuration; nothing: it was applied. Called by one thread at a time.
  using Reload = std::function<std::optional<ReloadRefusal>()>;

  ProxyAdmin() = default;
  ~ProxyAdmin() { close(); }

  // Binds the configured address, or duplicates an inherited socket that listens there. One
  // sentence: why it failed.
  [[nodiscard]] std::optional<std::string> bind(const ProxyConfig& config,
                                                std::optional<int> inherited);
  // Serves from now on. The proxy and the feed outlive it. Without a `reload` every reload is a
  // conflict. One sentence: why it failed.
  // REQUIRES: the proxy runs with the configuration that was bound.
  [[nodiscard]] std::optional<std::string> start(Proxy& proxy, EventFeed& feed, Reload reload);
  // Ends the server and closes the socket; duplicates of it stay open.
  void close();

  // One sentence: the next configuration's token file is another one, and cannot be read.
  [[nodiscard]] std::optional<std::string> find_error(const ProxyConfig& next) const;
  // The next configuration is in force. One sentence: its token file could not be read, and the
  // previous one remains.
  [[nodiscard]] std::optional<std::string> use(const ProxyConfig& next);

  // Nothing: there is no admin API.
  [[nodiscard]] std::optional<int> fd() const;
  [[nodiscard]] std::optional<std::uint16_t> port() const;

  // REQUIRES, of the following: start() was called.
  [[nodiscard]] ProxyState state() override;
  [[nodiscard]] std::string policy() override;
  [[nodiscard]] observe::Registry& registry() override;
  [[nodiscard]] std::optional<std::string> find_unready() override;
  [[nodiscard]] std::optional<std::string> flip(const SwitchScope& scope, admit::Switch which,
                                                const admit::SwitchSetting& setting) override;
  [[nodiscard]] std::vector<ScopeState> switches() override;
  [[nodiscard]] Expected<std::uint64_t, ReloadRefusal> reload() override;

 private:
  // Whether it has a token file other than the one in force. REQUIRES: mutex_ is held.
  [[nodiscard]] bool has_other_token(const ProxyConfig& next) const;

  std::optional<ListenerSockets> socket_;
  Proxy* proxy_ = nullptr;
  Reload reload_;
  mutable std::mutex mutex_;  // guards the following members
  std::string token_file_;
  std::unique_ptr<AdminServer> server_;
};

}  // namespace damper::proxy
