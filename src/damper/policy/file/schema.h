#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/schema.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// Every key of a route's block.
[[nodiscard]] const config::Schema<Settings>& block_schema();

// The top of a policy file: route, routes, dependencies and defaults. For the JSON Schema.
[[nodiscard]] const config::AnySchema& file_schema();

// Overwrites the settings of the route with those of the block, and marks them as set by `origin`.
void apply(const config::Reading& block, Origin origin, Route& route);

// The name of a route, a listener or a cluster.
inline constexpr std::string_view kNameForms = "1 to 100 letters, digits or . _ - / :";
[[nodiscard]] Expected<std::string> parse_name(std::string_view text);
inline constexpr config::Form kName = config::form::parsed(parse_name, kNameForms);

}  // namespace damper::policy
