#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/server/local_access.h"
#include "damper/proxy/admin/admin_pages.h"
#include "damper/proxy/admin/admin_server.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/listener_sockets.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

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
                                                std::optional<int> inherited) {
    if (!config.admin) return std::nullopt;
    const auto hint = [](const std::string& why) {
      return "admin: " + why + "; pass --admin ADDRESS:PORT or --admin off";
    };
    if (auto why = proxy::find_error(options_of(*config.admin))) return hint(*why);
    auto socket = inherited ? ListenerSockets::adopt({*inherited}, 1)
                            : ListenerSockets::bind(config.admin->address, config.admin->port, 1);
    if (!socket) return hint(socket.error());
    if (auto why = socket->listen()) return hint(*why);
    socket_.emplace(*std::move(socket));
    return std::nullopt;
  }
  // Serves from now on. The proxy and the feed outlive it. Without a `reload` every reload is a
  // conflict. One sentence: why it failed.
  // REQUIRES: the proxy runs with the configuration that was bound.
  [[nodiscard]] std::optional<std::string> start(Proxy& proxy, EventFeed& feed, Reload reload) {
    proxy_ = &proxy;
    reload_ = std::move(reload);
    if (!socket_) return std::nullopt;
    AdminOptions options = options_of(*proxy.config()->admin);
    options.adopt_fd = socket_->take(0).front();
    const std::lock_guard lock(mutex_);  // A first reload may precede the assignment of server_.
    token_file_ = options.token_file;
    auto server = AdminServer::start(options, *this, feed);
    if (!server) return server.error();
    server_ = *std::move(server);
    return std::nullopt;
  }
  // Ends the server and closes the socket; duplicates of it stay open.
  void close() {
    std::unique_ptr<AdminServer> server;
    {
      const std::lock_guard lock(mutex_);
      server = std::move(server_);
    }
    server.reset();  // Without the lock: the destructor waits for a running reload.
    socket_.reset();
  }

  // One sentence: the next configuration's token file is another one, and cannot be read.
  [[nodiscard]] std::optional<std::string> find_error(const ProxyConfig& next) const {
    const std::lock_guard lock(mutex_);
    if (!has_other_token(next) || next.admin->token_file.empty()) return std::nullopt;
    const auto token = http::read_token(next.admin->token_file);
    return token ? std::nullopt : std::optional("admin: " + token.error());
  }
  // The next configuration is in force. One sentence: its token file could not be read, and the
  // previous one remains.
  [[nodiscard]] std::optional<std::string> use(const ProxyConfig& next) {
    const std::lock_guard lock(mutex_);
    if (!has_other_token(next)) return std::nullopt;
    if (auto why = server_->set_token_file(next.admin->token_file)) return why;
    token_file_ = next.admin->token_file;
    return std::nullopt;
  }

  // Nothing: there is no admin API.
  [[nodiscard]] std::optional<int> fd() const {
    return socket_ ? std::optional(socket_->fds().front()) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint16_t> port() const {
    return socket_ ? std::optional(socket_->port()) : std::nullopt;
  }

  // REQUIRES, of the following: start() was called.
  [[nodiscard]] ProxyState state() override { return proxy_->state(); }
  [[nodiscard]] std::string policy() override { return print_proxy(*proxy_->config()); }
  [[nodiscard]] observe::Registry& registry() override { return proxy_->registry(); }
  [[nodiscard]] std::optional<std::string> find_unready() override {
    const ProxyState now = proxy_->state();
    if (!now.draining) return std::nullopt;
    return "draining: " + std::to_string(now.requests_under_way) + " requests in flight";
  }
  [[nodiscard]] std::optional<std::string> flip(const SwitchScope& scope, admit::Switch which,
                                                const admit::SwitchSetting& setting) override {
    return proxy_->flip(scope, which, setting);
  }
  [[nodiscard]] std::vector<ScopeState> switches() override { return proxy_->switches(); }
  [[nodiscard]] std::optional<std::string> force(
      const SwitchScope& scope, const std::string& replica,
      const admit::BreakerForceSetting& setting) override {
    return proxy_->force(scope, replica, setting);
  }
  [[nodiscard]] std::vector<ForcedBreaker> forced() override { return proxy_->forced(); }
  [[nodiscard]] Expected<std::uint64_t, ReloadRefusal> reload() override {
    if (!reload_) {
      return unexpected(
          ReloadRefusal{.sentence = "the proxy was started without a file", .conflict = true});
    }
    if (auto refusal = reload_()) return unexpected(*std::move(refusal));
    return proxy_->version();
  }

 private:
  static AdminOptions options_of(const AdminConfig& config) {
    return {.address = config.address, .port = config.port, .token_file = config.token_file};
  }
  // Whether it has a token file other than the one in force. REQUIRES: mutex_ is held.
  [[nodiscard]] bool has_other_token(const ProxyConfig& next) const {
    return server_ != nullptr && next.admin && next.admin->token_file != token_file_;
  }

  std::optional<ListenerSockets> socket_;
  Proxy* proxy_ = nullptr;
  Reload reload_;
  mutable std::mutex mutex_;  // guards the following members
  std::string token_file_;
  std::unique_ptr<AdminServer> server_;
};

}  // namespace damper::proxy
