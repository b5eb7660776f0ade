#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/error.h"

namespace damper::proxy {

// An Envoy file as a proxy's file: listeners, clusters and routes with their policies.
struct ImportedProxy {
  std::string text;                 // each line with the line of the original as a comment
  std::vector<config::Note> notes;  // in the order of the original
};

// The file's static_resources as a proxy's file; nothing if they are no complete proxy: it needs a
// listener whose routes are in the file, and a cluster whose endpoints are. Such a file has
// policies alone (policy::import_policy()). The first error of a value of another kind.
//
// Invariants:
//   (1) load_proxy(text) succeeds, or the notes have the reason.
//   (2) A field of the original either sets a value, or is an identifier, or has a note.
//   (3) A result that is less strict than the original has a note.
[[nodiscard]] Expected<std::optional<ImportedProxy>, config::Error> import_envoy_proxy(
    std::string_view text, std::string_view file);

}  // namespace damper::proxy
