#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "damper/proxy/import/part_draft.h"

namespace damper::proxy {

// How a field of Envoy is written here.
enum class As : std::uint8_t {
  duration,
  limit,      // a duration; zero: no limit
  integer,    // also bytes
  kibibytes,  // a number of KiB there, of bytes here
  percent,    // {value: 1.5}
  text,       // also true and false
};

// A row of the tables of fields that differ from ours in their name and unit alone. A key that the
// proxy does not have yet may stand here: it is noted until there is one.
struct FieldRow {
  std::string_view theirs;
  std::string_view ours;
  As as;
};

// Takes the fields of the table that are there.
void take_rows(policy::Fields& fields, std::span<const FieldRow> rows, PartDraft& draft,
               policy::ImportNotes& notes);

// {value: 1.5}, in hundredths of a percent; nothing when it is not there.
[[nodiscard]] std::optional<policy::Placed<std::int64_t>> take_percent(policy::Fields& fields,
                                                                       std::string_view field,
                                                                       policy::ImportNotes& notes);

// The field of a map in either of proto's spellings; null if it has none, or is no map.
[[nodiscard]] const config::Tree* find_field(const config::Tree& tree, std::string_view field);

// The type of a typed_config: "Router" of ".../envoy.extensions.filters.http.router.v3.Router".
// Empty when it has none.
[[nodiscard]] std::string type_of(const config::Tree& typed_config);

}  // namespace damper::proxy
