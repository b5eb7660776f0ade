#include "damper/proxy/import/part_draft.h"

#include <algorithm>

namespace damper::proxy {

PartDraft::PartDraft(const config::AnySchema& schema, std::string name,
                     config::SourceLocation place, policy::ImportNotes& notes)
    : schema_(&schema), name_(std::move(name)), notes_(&notes), reading_(schema, place) {}

bool PartDraft::has(std::string_view path) const {
  const auto key = schema_->find_key(path);
  return key && reading_.keys[*key];
}

bool PartDraft::knows(std::string_view path) const { return schema_->find_key(path).has_value(); }

std::int64_t PartDraft::raw(std::string_view path) const {
  return std::get<std::int64_t>(reading_.keys[schema_->position(path)]->value);
}

void PartDraft::set(std::string_view path, std::int64_t raw, config::SourceLocation place) {
  const auto key = schema_->find_key(path);
  if (!key) {
    notes_->left_out(place, std::string(path) + " is not translated yet and is left out");
    return;
  }
  const config::Form& form = schema_->keys()[*key].form;
  const std::int64_t held = form.off == raw ? raw
                                            : std::clamp(raw, static_cast<std::int64_t>(form.low),
                                                         static_cast<std::int64_t>(form.high));
  if (held != raw) {
    notes_->note(place, std::string(path) + " becomes " + config::write_value(form, held) +
                            ": it must be " + config::accepted(form));
  }
  put(*key, held, place);
}

void PartDraft::set_limit(std::string_view path, const policy::Placed<Duration>& value) {
  const auto key = schema_->find_key(path);
  if (!key || value.value.count() != 0) return set(path, value);
  const config::Form& form = schema_->keys()[*key].form;
  set(path, form.off.value_or(static_cast<std::int64_t>(form.high)), value.place);
}

void PartDraft::set(std::string_view path, const config::Tree& value) {
  const auto key = schema_->find_key(path);
  if (!key) {
    notes_->left_out(value.place, std::string(path) + " is not translated yet and is left out");
    return;
  }
  auto read = config::read_value(path, schema_->keys()[*key].form, value);
  if (!read) {
    notes_->left_out(value.place, read.error().sentence + "; it is left out");
    return;
  }
  put(*key, *std::move(read), value.place);
}

void PartDraft::set(std::string_view path, std::string_view text, config::SourceLocation place) {
  set(path, make_scalar(text, place));
}

void PartDraft::put(std::size_t key, config::Value value, config::SourceLocation place) {
  auto& entry = reading_.keys[key];
  const std::string_view path = schema_->keys()[key].path;
  if (entry) {
    if (entry->value != value && place.line > 0) {
      notes_->left_out(place,
                       std::string(path) + " has a value already" +
                           (entry->place.line > 0 ? ", of line " + std::to_string(entry->place.line)
                                                  : std::string()) +
                           ": this one is left out");
    }
    return;
  }
  entry = config::Reading::Entry{place, std::move(value)};
  const auto section = schema_->find_section(config::parent(path));
  if (section && !reading_.sections[*section]) reading_.sections[*section] = {.place = place};
}

void PartDraft::drop(std::string_view section) {
  for (std::size_t i = 0; i < reading_.keys.size(); ++i) {
    if (config::parent(schema_->keys()[i].path) == section) reading_.keys[i].reset();
  }
  if (const auto at = schema_->find_section(section)) reading_.sections[*at].reset();
}

void PartDraft::remove(std::string_view path) { reading_.keys[schema_->position(path)].reset(); }

void PartDraft::add(const PartDraft& other) {
  for (std::size_t i = 0; i < reading_.keys.size(); ++i) {
    if (!reading_.keys[i]) reading_.keys[i] = other.reading_.keys[i];
  }
  for (std::size_t i = 0; i < reading_.sections.size(); ++i) {
    if (!reading_.sections[i]) reading_.sections[i] = other.reading_.sections[i];
  }
}

config::Tree make_scalar(std::string_view text, config::SourceLocation place) {
  config::Tree tree;
  tree.kind = config::Tree::Kind::scalar;
  tree.place = place;
  tree.text = text;
  return tree;
}

config::Tree make_list(const std::vector<std::string>& texts, config::SourceLocation place) {
  config::Tree tree;
  tree.kind = config::Tree::Kind::sequence;
  tree.place = place;
  for (const std::string& text : texts) tree.items.push_back(make_scalar(text, place));
  return tree;
}

config::Tree make_map(const Pairs& pairs, config::SourceLocation place) {
  config::Tree tree;
  tree.kind = config::Tree::Kind::map;
  tree.place = place;
  for (const auto& [name, value] : pairs) {
    tree.items.push_back(make_scalar(name, place));
    tree.items.push_back(make_scalar(value, place));
  }
  return tree;
}

bool same_content(const config::Tree& one, const config::Tree& other) {
  return one.kind == other.kind && one.text == other.text &&
         std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
                    same_content);
}

std::string origin_of(config::SourceLocation place) {
  return place.line > 0 ? "line " + std::to_string(place.line) : "as Envoy";
}

}  // namespace damper::proxy
