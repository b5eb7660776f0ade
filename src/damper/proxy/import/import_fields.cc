#include "damper/proxy/import/import_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/config/route_action.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;

// Envoy's operators, and our variables of the same meaning.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kVariables = {{
    {"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", "CLIENT_ADDRESS"},
    {"DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT", "CLIENT_ADDRESS"},
    {"REQ(X-REQUEST-ID)", "REQUEST_ID"},
    {"REQ(x-request-id)", "REQUEST_ID"},
    {"REQ(:AUTHORITY)", "HOST"},
    {"REQ(:authority)", "HOST"},
    {"ROUTE_NAME", "ROUTE"},
}};

bool has_name(const Pairs& pairs, const std::string& name) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](const auto& pair) { return pair.first == name; });
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::optional<std::string> find_field_value(std::string_view value) {
  std::string result;
  while (!value.empty()) {
    const std::size_t start = std::min(value.find('%'), value.size());
    result += value.substr(0, start);
    value.remove_prefix(start);
    if (value.empty()) break;
    const std::size_t end = value.find('%', 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view name = value.substr(1, end - 1);
    const auto* const known = std::find_if(kVariables.begin(), kVariables.end(),
                                           [&](const auto& pair) { return pair.first == name; });
    if (!name.empty() && known == kVariables.end()) return std::nullopt;
    result += '%';
    if (!name.empty()) result += known->second;
    result += '%';
    value.remove_prefix(end + 1);
  }
  return result;
}

void FieldEditsImport::read_additions(Fields& level, std::string_view field, Edits& edits) {
  const config::SourceLocation place = level.place_of(field);
  for (const Tree& tree : level.list(field)) {
    Fields fields(tree, field, *notes_);
    const Tree* header = fields.take("header");
    const std::string action = fields.text("append_action");
    const auto append = fields.boolean("append");
    fields.skip({"keep_empty_value"});
    fields.leave_rest();
    if (header == nullptr) continue;
    Fields inner(*header, "header", *notes_);
    const std::string name = lower_case(inner.text("key"));
    const std::string text = inner.text("value");
    inner.leave_rest();
    const auto refuse = [&](const std::string& why) {
      notes_->left_out(tree.place, "the edit of " + text::in_quotes(name) + " is left out: " + why);
    };
    const bool adds =
        action.empty() ? !append || append->value : action == "APPEND_IF_EXISTS_OR_ADD";
    if (!adds && !action.empty() && action != "OVERWRITE_IF_EXISTS_OR_ADD") {
      refuse("append_action " + text::on_one_line(action) + " has no equivalent");
      continue;
    }
    const auto value = find_field_value(text);
    if (!value) {
      refuse("the variables are %CLIENT_ADDRESS%, %REQUEST_ID%, %HOST% and %ROUTE%");
      continue;
    }
    const auto name_error = read_edited_name(name);
    const auto value_error = read_edited_value(*value);
    if (!name_error || !value_error) {
      const std::string why = !name_error ? name_error.error() : value_error.error();
      refuse(why.empty() ? "it is not a field that can be edited" : why);
      continue;
    }
    Pairs& pairs = adds ? edits.add : edits.set;
    const std::pair<std::string, std::string> pair{name, *value};
    if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) continue;
    if (has_name(pairs, name)) {
      refuse("there is one for the same field already");
      continue;
    }
    if (edits.place.line == 0) edits.place = place;
    pairs.push_back(pair);
  }
}

void FieldEditsImport::read_removals(Fields& level, std::string_view field, Edits& edits) {
  const config::SourceLocation place = level.place_of(field);
  for (const Tree& tree : level.list(field)) {
    const auto name = read_edited_name(tree.text);
    if (!name) {
      notes_->left_out(tree.place, "the removal of " + text::in_quotes(tree.text) +
                                       " is left out: it is not a field that can be edited");
      continue;
    }
    auto& removed = edits.remove;
    if (std::find(removed.begin(), removed.end(), *name) != removed.end()) continue;
    if (edits.place.line == 0) edits.place = place;
    removed.push_back(*name);
  }
}

void FieldEditsImport::read(Fields& level) {
  read_additions(level, "request_headers_to_add", request_);
  read_removals(level, "request_headers_to_remove", request_);
  read_additions(level, "response_headers_to_add", response_);
  read_removals(level, "response_headers_to_remove", response_);
}

void FieldEditsImport::set(PartDraft& route) const {
  const auto set_all = [&](const Edits& edits, const std::string& of) {
    if (!edits.add.empty()) route.set(of + "_headers_to_add", make_map(edits.add, edits.place));
    if (!edits.set.empty()) route.set(of + "_headers_to_set", make_map(edits.set, edits.place));
    if (!edits.remove.empty()) {
      route.set(of + "_headers_to_remove", make_list(edits.remove, edits.place));
    }
  };
  set_all(request_, "request");
  set_all(response_, "response");
}

}  // namespace damper::proxy
