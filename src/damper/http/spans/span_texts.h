#pragma once

#include <cstdint>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/observe/trace/span.h"

namespace damper::http {

// What the spans of HTTP requests have in common, named by OpenTelemetry's conventions.

// The wall time of an instant in nanoseconds since 1970, by the two clocks now.
[[nodiscard]] std::int64_t unix_ns(Instant at, Instant now);

// "_OTHER" for a method that is not registered: a client may invent any, and spans are grouped by
// their names. The text is constant.
[[nodiscard]] std::string_view known_method(std::string_view method);

// Without the query, which may have secrets.
[[nodiscard]] inline std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

// "10.0.0.1:9000" as server.address and server.port; the latter only if there is one.
void add_server(observe::Span& span, std::string_view authority);

}  // namespace damper::http
