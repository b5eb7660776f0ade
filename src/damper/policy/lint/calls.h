#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "damper/config/error.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// The call graph of the routes' facts: the layers of a system.

// For each route the positions of those that it calls. A name that no route has is left out, and so
// is a name that is there twice.
[[nodiscard]] std::vector<std::vector<std::size_t>> calls(std::span<const Route> routes);

// The routes in an order in which each stands before those that it calls. Routes of a cycle, and
// those below one, are not in it.
[[nodiscard]] std::vector<std::size_t> callers_first(
    const std::vector<std::vector<std::size_t>>& calls);

// That every route that is called is there, and that none calls itself, directly or through others.
[[nodiscard]] std::optional<config::Error> check_calls(const PolicyFile& file);

}  // namespace damper::policy
