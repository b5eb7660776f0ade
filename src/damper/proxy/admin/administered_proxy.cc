#include "damper/proxy/admin/administered_proxy.h"

#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

ProxyState AdministeredProxy::state() { return proxy_.state(); }

std::string AdministeredProxy::policy() { return print_proxy(*proxy_.config()); }

observe::Registry& AdministeredProxy::registry() { return proxy_.registry(); }

std::optional<std::string> AdministeredProxy::find_unready() {
  const ProxyState now = proxy_.state();
  if (now.version == 0) return "there is no configuration yet";
  if (now.draining) return "it drains: " + std::to_string(now.requests_under_way) + " under way";
  return std::nullopt;
}

std::optional<std::string> AdministeredProxy::flip(std::string_view scope, admit::Switch which,
                                                   const admit::SwitchSetting& setting) {
  return proxy_.flip(scope, which, setting);
}

std::vector<ScopeState> AdministeredProxy::switches() { return proxy_.switches(); }

Expected<std::uint64_t, ReloadRefusal> AdministeredProxy::reload() {
  if (!reload_) {
    return unexpected(ReloadRefusal{
        .sentence = "there is no file to read again: it was started by flags", .conflict = true});
  }
  if (auto refusal = reload_()) return unexpected(*std::move(refusal));
  return proxy_.version();
}

AdminOptions admin_options(const AdminConfig& config) {
  AdminOptions options;
  options.address = config.address;
  options.port = config.port;
  options.token_file = config.token_file;
  return options;
}

}  // namespace damper::proxy
