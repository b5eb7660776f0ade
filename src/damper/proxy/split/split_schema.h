#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

inline constexpr std::string_view kCookieNameForms = "the name of a cookie, such as damper-canary";
[[nodiscard]] Expected<std::string> read_cookie_name(std::string_view text);
inline constexpr std::string_view kCookiePathForms = "a path from / on, without a query and ;";
[[nodiscard]] Expected<std::string> read_cookie_path(std::string_view text);

inline constexpr std::string_view kWeightsForms =
    "a list of 1 to 16 {cluster: NAME, weight: NUMBER}";
// An error without a file, with the location of the item.
[[nodiscard]] Expected<config::Value, config::Error> read_weights(const config::Tree& tree);

// The keys weighted_clusters and hash_policy, of a route.
void add_split(config::Schema<RouteConfig>& schema);

}  // namespace damper::proxy
