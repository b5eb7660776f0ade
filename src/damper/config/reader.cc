#include <algorithm>

#include "damper/base/text/words.h"
#include "damper/config/schema.h"

namespace damper::config {
namespace {

using Wrong = std::optional<Error>;

std::string join(std::string_view section, std::string_view word) {
  return section.empty() ? std::string(word) : std::string(section) + '.' + std::string(word);
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string in_brackets(const std::vector<std::string_view>& words) {
  return " (accepted: " + text::joined(words) + ")";
}

std::string twice(const std::string& given, SourceLocation first) {
  return given + " is given twice, first in line " + std::to_string(first.line);
}

std::string unknown(const Tree& key, std::string_view in,
                    const std::vector<std::string_view>& words) {
  return "unknown key " + text::in_quotes(key.text) + " in " + std::string(in) +
         text::suggestion(key.text, words) + in_brackets(words);
}

}  // namespace

Wrong Reader::read(std::span<const Target> targets, const Tree& map, SourceLocation place,
                   std::string_view name) {
  const Target& first = targets.front();
  if (map.is_scalar() && !first.schema->word().empty()) {
    Tree word;
    word.text = leaf(first.schema->word());
    return read_key(first, first.schema->position(first.schema->word()), word, map, word.text);
  }
  std::vector<std::string_view> words;
  for (const Target& target : targets) {
    const std::vector<std::string_view> own = target.schema->words();
    words.insert(words.end(), own.begin(), own.end());
  }
  const bool is_empty = map.kind == Tree::Kind::null && first.schema->may_be_null();
  if (!map.is_map() && !is_empty) {
    return error(place, std::string(name) + " must be a map of keys" + in_brackets(words));
  }
  for (std::size_t i = 0; i < map.pairs(); ++i) {
    const Tree& key = map.key(i);
    const auto target = std::find_if(targets.begin(), targets.end(), [&](const Target& one) {
      return contains(one.schema->words(), key.text);
    });
    if (target == targets.end()) return error(key.place, unknown(key, name, words));
    if (auto wrong = read_pair(*target, key, map.value(i), key.text, "")) return wrong;
  }
  for (const Target& target : targets) {
    if (auto wrong = find_missing(target, map, place, name)) return wrong;
  }
  return std::nullopt;
}

// Reads the map that stands at the path `given` and means the section `section`.
Wrong Reader::read_map(const Target& target, const Tree& map, SourceLocation place,
                       const std::string& given, const std::string& section) {
  const std::vector<std::string_view> words = target.schema->words_in(given, section);
  if (!map.is_map()) return error(place, given + " must be a map of keys" + in_brackets(words));
  for (std::size_t i = 0; i < map.pairs(); ++i) {
    const Tree& key = map.key(i);
    if (!contains(words, key.text)) return error(key.place, unknown(key, given, words));
    if (auto wrong = read_pair(target, key, map.value(i), join(given, key.text), section)) {
      return wrong;
    }
  }
  return std::nullopt;
}

Wrong Reader::read_pair(const Target& target, const Tree& word, const Tree& value,
                        const std::string& given, const std::string& section) {
  std::string path = join(section, word.text);
  for (const Alias& alias : target.schema->aliases()) {
    if (alias.from != given) continue;
    path = alias.to;
    if (!alias.note.empty() && notes_ != nullptr) {
      notes_->push_back(error(word.place, std::string(alias.note)));
    }
  }
  if (const auto key = target.schema->find_key(path)) {
    return read_key(target, *key, word, value, given);
  }
  const auto position = target.schema->find_section(path);
  if (!position) return read_map(target, value, word.place, given, path);
  return read_section(target, *position, word, value, given);
}

Wrong Reader::read_key(const Target& target, std::size_t position, const Tree& word,
                       const Tree& value, const std::string& given) {
  std::optional<Reading::Entry>& entry = target.reading->keys[position];
  if (entry) return error(word.place, twice(given, entry->place));
  const bool is_null = value.kind == Tree::Kind::null;
  Expected<Value, Error> read = read_value(word.text, target.schema->keys()[position].form, value);
  if (!read) return error(is_null ? word.place : read.error().place, read.error().sentence);
  entry = {.place = is_null ? word.place : value.place, .value = *std::move(read)};
  return std::nullopt;
}

Wrong Reader::read_section(const Target& target, std::size_t position, const Tree& word,
                           const Tree& value, const std::string& given) {
  const Section& section = target.schema->sections()[position];
  const std::string path(section.path);
  std::optional<Reading::Toggle>& toggle = target.reading->sections[position];
  if (toggle) return error(word.place, twice(path, toggle->place));
  toggle = {.place = word.place};
  if (section.read != nullptr) return section.read(*this, section, word, value, target.owner);
  if (!section.word.empty() && value.is_scalar()) {
    return read_key(target, target.schema->position(section.word), word, value, given);
  }
  const bool is_switch = section.turn != nullptr && value.is_scalar();
  if (!is_switch && !value.is_map() && !section.accepted.empty()) {
    return error(word.place, word.text + " must be " + std::string(section.accepted));
  }
  if (!is_switch) {
    return read_map(target, value, word.place, given, path);
  }
  toggle->on = value.text == "on";
  if (toggle->on || value.text == "off") return std::nullopt;
  return error(value.place,
               given + " must be on, off or a map of keys, not " + text::in_quotes(value.text));
}

// The first key or section of the map itself that is required and not there.
Wrong Reader::find_missing(const Target& target, const Tree& map, SourceLocation place,
                           std::string_view name) const {
  const auto check = [&](const auto& row) -> Wrong {
    if (!row.required) return std::nullopt;
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      if (map.key(i).text == row.path) return std::nullopt;
    }
    return error(place, std::string(name) + " needs the key " + std::string(row.path));
  };
  for (const Key& key : target.schema->keys()) {
    if (auto wrong = check(key)) return wrong;
  }
  for (const Section& section : target.schema->sections()) {
    if (auto wrong = check(section)) return wrong;
  }
  return std::nullopt;
}

Wrong Reader::read_named(const Section& section, const Tree& word, const Tree& value,
                         std::size_t most, const Form& name, const Named& read_one) const {
  if (!value.is_map() || value.pairs() == 0) {
    return error(word.place, word.text + " must be " + std::string(section.accepted));
  }
  if (value.pairs() > most) {
    return error(word.place, word.text + " has more than " + std::to_string(most) + " entries");
  }
  for (std::size_t i = 0; i < value.pairs(); ++i) {
    const Tree& key = value.key(i);
    if (const auto wrong = read_value("a name", name, key); !wrong) {
      return error(key.place, wrong.error().sentence);
    }
    if (auto wrong = read_one(key, value.value(i))) return wrong;
  }
  return std::nullopt;
}

Wrong Reader::read_list(const Section& section, const Tree& word, const Tree& value,
                        std::size_t most, const Item& read_one) const {
  if (value.kind != Tree::Kind::sequence) {
    return error(word.place, word.text + " must be " + std::string(section.accepted));
  }
  if (value.items.size() > most) {
    return error(word.place, word.text + " has more than " + std::to_string(most) + " entries");
  }
  for (const Tree& item : value.items) {
    if (auto wrong = read_one(item)) return wrong;
  }
  return std::nullopt;
}

}  // namespace damper::config
