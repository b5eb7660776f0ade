#pragma once

#include <optional>
#include <vector>

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The locations of the values of a config in its file.
struct ProxyPlaces {
  config::Reading proxy{};
  std::vector<config::Reading> listeners{};  // as in the config, and so the others
  std::vector<config::Reading> clusters{};
  std::vector<config::Reading> routes{};
  config::Reading defaults{};  // of the routes
};

// The first error between the parts of a config, each of whose values is within its bounds. A
// config that is valid and suspicious has notes (proxy_notes.cc); `policies` are those of its
// routes.
[[nodiscard]] std::optional<config::Error> find_error(const ProxyConfig& config,
                                                      const ProxyPlaces& places);
[[nodiscard]] std::vector<config::Note> notes_of(const ProxyConfig& config,
                                                 const ProxyPlaces& places,
                                                 const policy::PolicyFile& policies);

// Whether `wide` takes every request that `narrow` could take.
[[nodiscard]] bool covers(const RouteMatch& wide, const RouteMatch& narrow);

}  // namespace damper::proxy
