#include "damper/http/spans/span_texts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "damper/base/text/words.h"

namespace damper::http {

std::int64_t unix_ns(Instant at, Instant now) {
  const auto wall = std::chrono::system_clock::now() - between(at, now);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall.time_since_epoch()).count();
}

std::string_view known_method(std::string_view method) {
  static constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  const auto* const found = std::find(kMethods.begin(), kMethods.end(), method);
  return found != kMethods.end() ? *found : "_OTHER";
}

void add_server(observe::Span& span, std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  span.add("server.address", authority.substr(0, has_port ? colon : authority.size()));
  if (!has_port) return;
  if (const auto port = text::find_number<int>(authority.substr(colon + 1))) {
    span.add_number("server.port", *port);
  }
}

}  // namespace damper::http
