#ifndef DAMPER_PROXY_ADMIN_ADMINISTERED_PROXY_H_
#define DAMPER_PROXY_ADMIN_ADMINISTERED_PROXY_H_

#include <functional>
#include <optional>
#include <string>

#include "damper/base/expected.h"
#include "damper/proxy/admin/admin_server.h"
#include "damper/proxy/admin/administered.h"

namespace damper::proxy {

class Proxy;
struct AdminConfig;

// An AdministeredProxy is a Proxy as an AdminServer sees it; how it is reloaded, the shell knows.
//
//   EventFeed feed(&log);
//   auto proxy = Proxy::start(config, {.events = &feed});
//   AdministeredProxy administered(**proxy, [&] { return shell.reload(); });
//   auto admin = AdminServer::start(admin_options(*config.admin), administered, feed);
//
// Thread safety: as Administered; `reload` is called by one thread at a time.
class AdministeredProxy final : public Administered {
 public:
  // Reads the configuration again and gives it to the proxy; nothing: it did.
  using Reload = std::function<std::optional<ReloadRefusal>()>;

  // The proxy outlives it. Without a `reload` every reload is a conflict.
  AdministeredProxy(Proxy& proxy, Reload reload) : proxy_(proxy), reload_(std::move(reload)) {}

  [[nodiscard]] ProxyState state() override;
  [[nodiscard]] std::string policy() override;
  [[nodiscard]] observe::Registry& registry() override;
  [[nodiscard]] std::optional<std::string> find_unready() override;
  [[nodiscard]] std::optional<std::string> flip(std::string_view scope, admit::Switch which,
                                                const admit::SwitchSetting& setting) override;
  [[nodiscard]] std::vector<ScopeState> switches() override;
  [[nodiscard]] Expected<std::uint64_t, ReloadRefusal> reload() override;

 private:
  Proxy& proxy_;
  const Reload reload_;
};

// What a configuration says of the admin server.
[[nodiscard]] AdminOptions admin_options(const AdminConfig& config);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_ADMIN_ADMINISTERED_PROXY_H_
