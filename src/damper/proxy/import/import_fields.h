#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// The edits of fields that a route has from itself, its virtual host and its route configuration.
//
// Model: read() is called for the route first: an edit of the same field at an outer level is left
// out there with a note, unless it is equal. Variables of Envoy become ours; a value with another
// one is left out.
class FieldEditsImport {
 public:
  explicit FieldEditsImport(policy::ImportNotes& notes) : notes_(&notes) {}

  // Takes request_headers_to_add and the others of a level.
  void read(policy::Fields& level);
  void set(PartDraft& route) const;

 private:
  struct Edits {
    Pairs add{};
    Pairs set{};
    std::vector<std::string> remove{};
    config::SourceLocation place{};
  };
  void read_additions(policy::Fields& level, std::string_view field, Edits& edits);
  void read_removals(policy::Fields& level, std::string_view field, Edits& edits);

  policy::ImportNotes* notes_;
  Edits request_;
  Edits response_;
};

// The value with our variables; nothing if it has one without an equivalent.
[[nodiscard]] std::optional<std::string> find_field_value(std::string_view value);

}  // namespace damper::proxy
