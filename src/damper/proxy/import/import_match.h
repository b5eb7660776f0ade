#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// Reads a route's match into the keys of match. False, with a note, if it has a condition without
// an equivalent: a route without that condition would take requests that are not its own.
[[nodiscard]] bool read_match(const config::Tree& tree, PartDraft& route,
                              policy::ImportNotes& notes);

// A regular expression that means a path or a prefix: /a/b, /a/.*, /a(/.*)?, with dots as \. and
// the anchors that Envoy implies. Nothing for any other one.
struct PlainPath {
  std::string text;
  bool is_prefix = false;
  friend bool operator==(const PlainPath&, const PlainPath&) = default;
};
[[nodiscard]] std::optional<PlainPath> find_plain_path(std::string_view regex);

}  // namespace damper::proxy
