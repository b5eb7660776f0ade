#include "damper/proxy/import/field_table.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace damper::proxy {

using policy::Fields;
using policy::ImportNotes;
using policy::Placed;

std::optional<Placed<std::int64_t>> take_percent(Fields& fields, std::string_view field,
                                                 ImportNotes& notes) {
  const config::Tree* tree = fields.take(field);
  if (tree == nullptr) return std::nullopt;
  Fields inner(*tree, field, notes);
  const Placed<double> value = inner.number("value", 0);
  inner.leave_rest();
  return Placed<std::int64_t>{std::llround(std::min(value.value, 1e6) * 100),
                              value.place.line > 0 ? value.place : tree->place};
}

void take_rows(Fields& fields, std::span<const FieldRow> rows, PartDraft& draft,
               ImportNotes& notes) {
  for (const FieldRow& row : rows) {
    switch (row.as) {
      case As::duration:
        if (const auto value = fields.duration(row.theirs)) draft.set(row.ours, *value);
        break;
      case As::limit:
        if (const auto value = fields.duration(row.theirs)) draft.set_limit(row.ours, *value);
        break;
      case As::integer:
        if (const auto value = fields.integer(row.theirs)) draft.set(row.ours, *value);
        break;
      case As::kibibytes:
        if (auto value = fields.integer(row.theirs)) {
          draft.set(row.ours, std::min<std::int64_t>(value->value, 1 << 30) * 1024, value->place);
        }
        break;
      case As::percent:
        if (const auto value = take_percent(fields, row.theirs, notes)) draft.set(row.ours, *value);
        break;
      case As::text: {
        const config::Tree* tree = fields.take(row.theirs);
        if (tree != nullptr) draft.set(row.ours, *tree);
        break;
      }
    }
  }
}

const config::Tree* find_field(const config::Tree& tree, std::string_view field) {
  if (!tree.is_map()) return nullptr;
  ImportNotes silent("");
  return Fields(tree, "", silent).take(field);
}

std::string type_of(const config::Tree& typed_config) {
  const config::Tree* type = typed_config.find("@type");
  if (type == nullptr) return {};
  return type->text.substr(type->text.rfind('.') + 1);
}

}  // namespace damper::proxy
