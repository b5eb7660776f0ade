#ifndef DAMPER_PROXY_ADMIN_ADMINISTERED_H_
#define DAMPER_PROXY_ADMIN_ADMINISTERED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// Why a reload changed nothing.
struct ReloadRefusal {
  std::string sentence;
  bool conflict = false;  // not the file's fault: there is none
};

// What an AdminServer shows and steers: a Proxy and the shell around it (administered_proxy.h), or
// a test's fake.
//
// Thread safety: called by threads of the admin server, concurrently. All but flip() and switches()
// may wait for the data plane's loops; these two wait for nothing that a stuck loop holds.
class Administered {
 public:
  [[nodiscard]] virtual ProxyState state() = 0;
  // Every value in force, as YAML.
  [[nodiscard]] virtual std::string policy() = 0;
  // Outlives the admin server.
  [[nodiscard]] virtual observe::Registry& registry() = 0;
  // Nothing: it takes traffic. One sentence: why not (it drains, it has no configuration yet).
  [[nodiscard]] virtual std::optional<std::string> find_unready() = 0;
  // As Proxy::flip(): the scope is "", "cluster/NAME" or "route/NAME"; one sentence: there is no
  // such scope.
  [[nodiscard]] virtual std::optional<std::string> flip(std::string_view scope, admit::Switch which,
                                                        const admit::SwitchSetting& setting) = 0;
  [[nodiscard]] virtual std::vector<ScopeState> switches() = 0;
  // Reads the configuration again: its version.
  [[nodiscard]] virtual Expected<std::uint64_t, ReloadRefusal> reload() = 0;

 protected:
  ~Administered() = default;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_ADMIN_ADMINISTERED_H_
