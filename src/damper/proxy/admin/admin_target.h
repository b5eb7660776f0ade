#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::proxy {

// The reason why a reload changed nothing.
struct ReloadRefusal {
  std::string sentence;
  bool conflict = false;  // there is no file to reload, or it is not in force
};

// An AdminTarget is what an AdminServer shows and controls: a ProxyAdmin (proxy/process), or a fake
// of a test.
//
// Thread safety: called concurrently by threads of the admin server. flip() and switches() do not
// wait for a loop of the data plane; the other methods may.
class AdminTarget {
 public:
  [[nodiscard]] virtual ProxyState state() = 0;
  // The policy in force with all defaults, as YAML.
  [[nodiscard]] virtual std::string policy() = 0;
  // Outlives the admin server.
  [[nodiscard]] virtual observe::Registry& registry() = 0;
  // One sentence: the reason why it accepts no traffic.
  [[nodiscard]] virtual std::optional<std::string> find_unready() = 0;
  // One sentence: the scope does not exist.
  [[nodiscard]] virtual std::optional<std::string> flip(const SwitchScope& scope,
                                                        admit::Switch which,
                                                        const admit::SwitchSetting& setting) = 0;
  [[nodiscard]] virtual std::vector<ScopeState> switches() = 0;
  // Reloads the configuration and returns its version.
  [[nodiscard]] virtual Expected<std::uint64_t, ReloadRefusal> reload() = 0;

 protected:
  ~AdminTarget() = default;
};

}  // namespace damper::proxy
