#include "damper/proxy/process/proxy_admin.h"

#include <utility>

#include "damper/proxy/admin/admin_access.h"
#include "damper/proxy/admin/admin_server.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {
namespace {

AdminOptions options_of(const AdminConfig& config) {
  AdminOptions options;
  options.address = config.address;
  options.port = config.port;
  options.token_file = config.token_file;
  return options;
}

}  // namespace

std::optional<std::string> ProxyAdmin::bind(const ProxyConfig& config,
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

std::optional<std::string> ProxyAdmin::start(Proxy& proxy, EventFeed& feed, Reload reload) {
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

void ProxyAdmin::close() {
  std::unique_ptr<AdminServer> server;
  {
    const std::lock_guard lock(mutex_);
    server = std::move(server_);
  }
  server.reset();  // Without the lock: the destructor waits for a running reload.
  socket_.reset();
}

bool ProxyAdmin::has_other_token(const ProxyConfig& next) const {
  return server_ != nullptr && next.admin && next.admin->token_file != token_file_;
}

std::optional<std::string> ProxyAdmin::find_error(const ProxyConfig& next) const {
  const std::lock_guard lock(mutex_);
  if (!has_other_token(next) || next.admin->token_file.empty()) return std::nullopt;
  const auto token = read_token(next.admin->token_file);
  return token ? std::nullopt : std::optional("admin: " + token.error());
}

std::optional<std::string> ProxyAdmin::use(const ProxyConfig& next) {
  const std::lock_guard lock(mutex_);
  if (!has_other_token(next)) return std::nullopt;
  if (auto why = server_->set_token_file(next.admin->token_file)) return why;
  token_file_ = next.admin->token_file;
  return std::nullopt;
}

ProxyState ProxyAdmin::state() { return proxy_->state(); }

std::string ProxyAdmin::policy() { return print_proxy(*proxy_->config()); }

observe::Registry& ProxyAdmin::registry() { return proxy_->registry(); }

std::optional<std::string> ProxyAdmin::find_unready() {
  const ProxyState now = proxy_->state();
  if (!now.draining) return std::nullopt;
  return "draining: " + std::to_string(now.requests_under_way) + " requests in flight";
}

std::optional<std::string> ProxyAdmin::flip(const SwitchScope& scope, admit::Switch which,
                                            const admit::SwitchSetting& setting) {
  return proxy_->flip(scope, which, setting);
}

std::vector<ScopeState> ProxyAdmin::switches() { return proxy_->switches(); }

Expected<std::uint64_t, ReloadRefusal> ProxyAdmin::reload() {
  if (!reload_) {
    return unexpected(
        ReloadRefusal{.sentence = "the proxy was started without a file", .conflict = true});
  }
  if (auto refusal = reload_()) return unexpected(*std::move(refusal));
  return proxy_->version();
}

std::optional<int> ProxyAdmin::fd() const {
  return socket_ ? std::optional(socket_->fds().front()) : std::nullopt;
}

std::optional<std::uint16_t> ProxyAdmin::port() const {
  return socket_ ? std::optional(socket_->port()) : std::nullopt;
}

}  // namespace damper::proxy
