#pragma once

#include <vector>

#include "damper/config/yaml_tree.h"
#include "damper/policy/lint/lint.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::cli {

// What is risky about the listeners and routes of a valid proxy's file; `tree` has the places of
// its keys. The rules: strangers-trusted, limit-bypassed, no-client-limit. All are about listeners
// that other machines can reach, so the file of a sidecar on loopback has no findings.
[[nodiscard]] std::vector<policy::Finding> lint_proxy(const proxy::ProxyConfig& config,
                                                      const config::Tree& tree);

}  // namespace damper::cli
