#ifndef DAMPER_PROXY_CONFIG_PROXY_CHECK_H_
#define DAMPER_PROXY_CONFIG_PROXY_CHECK_H_

#include <optional>
#include <vector>

#include "damper/config/error.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/proxy_reader.h"

namespace damper::proxy {

// Where the things of a config stand in its file.
struct ProxyPlaces {
  Said proxy{};
  std::vector<Said> listeners{};  // as in the config, and so the others
  std::vector<Said> clusters{};
  std::vector<Said> routes{};
};

// What is wrong with the things of a config together, each of whose values is within its bounds:
// the first error. What is only strange is a note.
[[nodiscard]] std::optional<config::Error> find_error(const ProxyConfig& config,
                                                      const ProxyPlaces& places);
[[nodiscard]] std::vector<config::Note> notes_of(const ProxyConfig& config,
                                                 const ProxyPlaces& places);

// Whether `wide` takes every request that `narrow` could take.
[[nodiscard]] bool covers(const RouteMatch& wide, const RouteMatch& narrow);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_CONFIG_PROXY_CHECK_H_
