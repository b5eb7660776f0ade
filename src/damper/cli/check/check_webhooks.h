#pragma once

#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/error.h"
#include "damper/config/yaml_tree.h"
#include "damper/policy/lint/lint.h"
#include "damper/webhooks/process/serve_options.h"

namespace damper::cli {

// Whether it is a file of `damper webhooks serve`: it has a key that no other file has.
[[nodiscard]] bool is_webhooks_file(const config::Tree& tree);

[[nodiscard]] Expected<webhooks::ServeOptions, config::Error> load_webhooks_file(
    const config::Tree& tree, const std::string& name);

// What is wrong or risky about valid options; `tree` has the places of their keys. The rules are
// those of policies, as far as they apply: no-jitter, attempts-exceed-deadline, not-as-written. The
// defaults have no findings.
[[nodiscard]] std::vector<policy::Finding> lint_webhooks(const webhooks::ServeOptions& options,
                                                         const config::Tree& tree);

}  // namespace damper::cli
