#include "damper/config/schema.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::config {
namespace {

template <class Rows>
std::optional<std::size_t> position_in(const Rows& rows, std::string_view path) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.path == path; });
  if (found == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(found - rows.begin());
}

bool is_zero(const Value& value) {
  return std::visit([](const auto& held) { return held == std::remove_cvref_t<decltype(held)>{}; },
                    value);
}

void add_line(std::string& out, std::size_t indent, std::string line, const std::string& comment) {
  line.insert(0, indent, ' ');
  if (!comment.empty()) {
    line.resize(std::max(line.size() + 1, kCommentColumn), ' ');
    line += "# " + comment;
  }
  out += line + '\n';
}

std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

// What accepted() returns, less the examples that an error needs and a table does not.
std::string bounds(const Form& form) {
  std::string text = accepted(form);
  if (form.kind == Kind::text || form.kind == Kind::texts || form.kind == Kind::custom) return text;
  text.resize(std::min(text.find(", such as"), text.size()));
  return text.starts_with("a ") ? text.substr(2) : text;
}

}  // namespace

std::string_view parent(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf(std::string_view path) { return path.substr(path.rfind('.') + 1); }

Reading::Reading(const AnySchema& schema, SourceLocation location)
    : place(location), keys(schema.keys().size()), sections(schema.sections().size()) {}

std::optional<std::size_t> AnySchema::find_key(std::string_view path) const {
  return position_in(keys_, path);
}

std::optional<std::size_t> AnySchema::find_section(std::string_view path) const {
  return position_in(sections_, path);
}

std::size_t AnySchema::position(std::string_view path) const {
  const auto found = find_key(path);
  DAMPER_CHECK(found.has_value());
  return *found;
}

std::vector<std::string_view> AnySchema::words_in(std::string_view given,
                                                  std::string_view section) const {
  std::vector<std::string_view> words;
  const auto collect = [&](std::string_view in) {
    const auto take = [&](std::string_view path) {
      if (parent(path) == in) words.push_back(leaf(path));
    };
    for (const Key& key : keys_) take(key.path);
    for (const Section& inner : sections_) take(inner.path);
    for (const Alias& alias : aliases_) take(alias.from);
  };
  collect(given);
  if (words.empty()) collect(section);
  return words;
}

SourceLocation AnySchema::place_of(const Reading& reading, std::string_view path) const {
  const std::size_t at = position(path);
  return at < reading.keys.size() && reading.keys[at] ? reading.keys[at]->place : reading.place;
}

bool AnySchema::is_on(const Key& key, const void* thing) const {
  const auto section = find_section(parent(key.path));
  const auto on = section ? sections_[*section].on : nullptr;
  return on == nullptr || on(thing);
}

Value AnySchema::value(const Key& key, const void* thing) {
  Value value = key.get(key.form, thing);
  return key.unset_at_zero && is_zero(value) ? Value() : value;
}

void AnySchema::turn_all_on(void* thing) const {
  for (const Section& section : sections_) {
    if (section.turn != nullptr) section.turn(thing, true);
  }
}

void AnySchema::apply(const Reading& reading, void* thing) const {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const auto& toggle = reading.sections[i];
    if (toggle && sections_[i].turn != nullptr) sections_[i].turn(thing, toggle->on);
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (reading.keys[i]) keys_[i].set(keys_[i].form, thing, Value(reading.keys[i]->value));
  }
}

std::optional<std::string> AnySchema::find_error(const void* thing) const {
  for (const Key& key : keys_) {
    if (!is_on(key, thing)) continue;
    const Value held = value(key, thing);
    const auto* const text = std::get_if<std::string>(&held);
    if (text != nullptr && text->empty()) continue;  // It is not set, as in print().
    if (auto sentence = config::find_error(key.path, key.form, held)) return sentence;
  }
  return std::nullopt;
}

std::string AnySchema::print(const void* thing, std::size_t indent, bool with_off,
                             const Comment& comment) const {
  std::string out;
  print_section(out, "", thing, indent, with_off, comment);
  return out;
}

void AnySchema::print_section(std::string& out, std::string_view path, const void* thing,
                              std::size_t indent, bool with_off, const Comment& comment) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (parent(keys_[i].path) != path) continue;
    const std::optional<std::string> words = comment(i);
    if (!words) continue;
    const std::string text = write_value(keys_[i].form, value(keys_[i], thing));
    if (text.empty()) continue;
    add_line(out, indent, std::string(leaf(keys_[i].path)) + ": " + text, *words);
  }
  for (const Section& section : sections_) {
    if (parent(section.path) != path || section.items != Section::Items::none) continue;
    const std::string word(leaf(section.path));
    if (section.on != nullptr && !section.on(thing)) {
      if (with_off) add_line(out, indent, word + ": off", {});
      continue;
    }
    std::string inner;
    print_section(inner, section.path, thing, indent + 2, with_off, comment);
    if (!inner.empty()) add_line(out, indent, word + ':', {});
    out += inner;
  }
}

std::string AnySchema::rows(std::string_view path, const void* all_on) const {
  std::string text = "| key | default | accepted | |\n|---|---|---|---|\n";
  const auto add = [&](std::string_view row, const std::string& standard, std::string_view form,
                       std::string_view doc) {
    text += "| `" + std::string(leaf(row)) + "` | " + in_cell(standard) + " | " + in_cell(form) +
            " | " + in_cell(doc) + " |\n";
  };
  for (const Key& key : keys_) {
    if (parent(key.path) != path) continue;
    const std::string standard = write_value(key.form, value(key, all_on));
    add(key.path,
        key.required       ? "required"
        : standard.empty() ? standard
                           : '`' + standard + '`',
        bounds(key.form), key.doc);
  }
  for (const Section& section : sections_) {
    if (parent(section.path) != path || section.accepted.empty()) continue;
    add(section.path, section.required ? "required" : "", section.accepted, section.doc);
  }
  return text;
}

std::string AnySchema::reference(const void* defaults, const void* all_on, std::string_view heading,
                                 std::string_view of) const {
  std::string text = rows("", all_on);
  for (const Section& section : sections_) {
    if (section.items != Section::Items::none) continue;
    text += '\n' + std::string(heading) + ' ' + std::string(section.path) + std::string(of) +
            "\n\n" + std::string(section.doc);
    if (section.turn != nullptr) {
      text += section.on(defaults) ? " Enabled by default; `off` disables it."
                                   : " Disabled by default; `on` enables it with these defaults.";
    }
    text += "\n\n" + rows(section.path, all_on);
  }
  return text;
}

}  // namespace damper::config
