#include "damper/proxy/config/proxy_reader.h"

#include <algorithm>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::SourceLocation;
using config::Tree;
using policy::leaf;
using text::in_quotes;
using text::joined;

std::string join(std::string_view section, std::string_view word) {
  return section.empty() ? std::string(word) : std::string(section) + '.' + std::string(word);
}

// A value that is not there stands where its key does.
SourceLocation place_of(const Tree& key, const Tree& value) {
  return value.kind == Tree::Kind::null ? key.place : value.place;
}

class Reader {
 public:
  Reader(Thing thing, const Subject& subject, std::string_view name, std::string_view file,
         Said& said)
      : thing_(thing), subject_(subject), name_(name), file_(file), said_(said) {
    said_.keys.resize(proxy_keys().size());
    fresh_.resize(proxy_keys().size());
  }

  // Reads the map that stands at the path `given` and means the section `section`.
  [[nodiscard]] std::optional<Error> read_map(const Tree& map, SourceLocation place,
                                              const std::string& given,
                                              const std::string& section) {
    std::vector<std::string_view> words = proxy_words(thing_, given);
    if (words.empty()) words = proxy_words(thing_, section);
    const std::string called = given.empty() ? name_ : given;
    if (!map.is_map()) {
      return error(place, called + " must be a map of keys (accepted: " + joined(words) + ")");
    }
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      const Tree& key = map.key(i);
      if (std::find(words.begin(), words.end(), key.text) == words.end()) {
        return error(key.place, "unknown key " + in_quotes(key.text) + " in " + called +
                                    text::suggestion(key.text, words) +
                                    " (accepted: " + joined(words) + ")");
      }
      if (auto wrong = read_pair(key, map.value(i), join(given, key.text), section)) return wrong;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {std::string(file_), place, std::move(sentence)};
  }

  [[nodiscard]] std::optional<Error> read_pair(const Tree& word, const Tree& value,
                                               const std::string& given,
                                               const std::string& section) {
    std::string path = join(section, word.text);
    for (const ProxyMoved& other : proxy_moved()) {
      if (other.thing == thing_ && other.from == given) path = other.to;
    }
    const auto key = find_proxy_key(thing_, path);
    if (!key) return read_section(path, value, word.place, given);
    if (fresh_[*key]) {
      return error(word.place, given + " is given twice, first in line " +
                                   std::to_string(said_.keys[*key].line));
    }
    fresh_[*key] = true;
    said_.keys[*key] = place_of(word, value);
    return read_key(proxy_keys()[*key], value, said_.keys[*key]);
  }

  [[nodiscard]] std::optional<Error> read_section(const std::string& path, const Tree& value,
                                                  SourceLocation place, const std::string& given) {
    const auto position = find_proxy_section(thing_, path);
    const auto turn = position ? proxy_sections()[*position].turn : nullptr;
    if (turn == nullptr) return read_map(value, place, given, path);
    if (value.is_scalar() && value.text != "on" && value.text != "off") {
      return error(value.place,
                   given + " must be on, off or a map of keys, not " + in_quotes(value.text));
    }
    turn(subject_, !value.is_scalar() || value.text == "on");
    if (value.is_scalar()) return std::nullopt;
    return read_map(value, place, given, path);
  }

  [[nodiscard]] std::optional<Error> read_key(const ProxyKey& key, const Tree& value,
                                              SourceLocation place) {
    switch (key.shape) {
      case Shape::raw: {
        const auto raw = policy::read(key.form, value);
        if (!raw) return error(place, raw.error());
        key.set(subject_, *raw);
        return std::nullopt;
      }
      case Shape::text:
        return take(key, value, place);
      case Shape::texts:
        return read_texts(key, value, place);
      case Shape::headers:
        return read_headers(key, value, place);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> take(const ProxyKey& key, const Tree& value,
                                          SourceLocation place) {
    if (!value.is_scalar()) return not_accepted(key, value, place);
    const auto why = key.take(subject_, value.text);
    if (!why) return std::nullopt;
    return wrong_text(leaf(key.form.path), key.accepted, value, place, *why);
  }

  [[nodiscard]] std::optional<Error> read_texts(const ProxyKey& key, const Tree& value,
                                                SourceLocation place) {
    key.texts(subject_).clear();
    if (value.is_scalar()) return take(key, value, place);
    if (value.kind != Tree::Kind::sequence || value.items.empty() ||
        value.items.size() > kMostTexts) {
      return not_accepted(key, value, place);
    }
    for (const Tree& item : value.items) {
      if (auto wrong = take(key, item, item.place)) return wrong;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> read_headers(const ProxyKey& key, const Tree& value,
                                                  SourceLocation place) {
    subject_.route->match.headers.clear();
    const bool is_list = value.kind == Tree::Kind::sequence;
    const std::size_t count = is_list ? value.items.size() : value.pairs();
    if ((!is_list && !value.is_map()) || count == 0 || count > kMostTexts) {
      return not_accepted(key, value, place);
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto wrong =
          is_list ? read_header(key, value.items[i]) : add_header(value.key(i), value.value(i));
      if (wrong) return wrong;
    }
    return std::nullopt;
  }

  // {name: x-canary, exact_match: "1"} or {name: x-canary, present_match: true}
  [[nodiscard]] std::optional<Error> read_header(const ProxyKey& key, const Tree& item) {
    const Tree* name = nullptr;
    const Tree* value = nullptr;
    bool present = false;
    for (std::size_t i = 0; item.is_map() && i < item.pairs(); ++i) {
      const std::string& word = item.key(i).text;
      if (word == "name") name = &item.value(i);
      if (word == "exact_match") value = &item.value(i);
      if (word == "present_match") present = item.value(i).text == "true";
    }
    if (name == nullptr || item.pairs() != 2 || present == (value != nullptr)) {
      return not_accepted(key, item, item.place);
    }
    return add_header(*name, present ? Tree{} : *value);
  }

  [[nodiscard]] std::optional<Error> add_header(const Tree& name, const Tree& value) {
    RouteMatch::Header header;
    auto read = read_header_name(name.text);
    if (!read) {
      return wrong_text("a header", kHeaderNameForms, name, name.place, read.error());
    }
    header.name = *std::move(read);
    if (value.kind != Tree::Kind::null) {
      auto text = read_header_value(value.text);
      if (!text) {
        return wrong_text(name.text, kHeaderValueForms, value, value.place, text.error());
      }
      header.value = *std::move(text);
    }
    subject_.route->match.headers.push_back(std::move(header));
    return std::nullopt;
  }

  [[nodiscard]] Error not_accepted(const ProxyKey& key, const Tree& value,
                                   SourceLocation place) const {
    const std::string_view what = value.kind == Tree::Kind::null    ? "nothing"
                                  : value.is_map()                  ? "this map"
                                  : value.is_scalar()               ? "a word"
                                  : value.items.empty()             ? "an empty list"
                                  : value.items.size() > kMostTexts ? "a longer list"
                                                                    : "a list";
    return error(place, std::string(leaf(key.form.path)) + " must be " + accepted(key) + ", not " +
                            std::string(what));
  }
  [[nodiscard]] Error wrong_text(std::string_view called, std::string_view accepted,
                                 const Tree& value, SourceLocation place,
                                 const std::string& why) const {
    return error(place, text::on_one_line(called) + " must be " + std::string(accepted) + ", not " +
                            in_quotes(value.text) + (why.empty() ? "" : ": " + why));
  }

  Thing thing_;
  Subject subject_;
  std::string name_;
  std::string_view file_;
  Said& said_;
  std::vector<bool> fresh_;  // said by this map
};

Tree empty_map(const Tree& like) {
  Tree tree;
  tree.kind = Tree::Kind::map;
  tree.place = like.place;
  return tree;
}

}  // namespace

SourceLocation Said::at(Thing thing, std::string_view path) const {
  const auto key = find_proxy_key(thing, path);
  const bool is_said = key && *key < keys.size() && keys[*key].line > 0;
  return is_said ? keys[*key] : place;
}

std::optional<Error> read_thing(Thing thing, const Subject& subject, const Tree& map,
                                SourceLocation place, std::string_view name, std::string_view file,
                                Said& said) {
  return Reader(thing, subject, name, file, said).read_map(map, place, "", "");
}

Halves split(const Tree& map, std::span<const std::string_view> words) {
  Halves halves{empty_map(map), empty_map(map)};
  if (!map.is_map()) {
    halves.others = map;
    return halves;
  }
  for (std::size_t i = 0; i < map.pairs(); ++i) {
    const bool among = std::find(words.begin(), words.end(), map.key(i).text) != words.end();
    std::vector<Tree>& items = (among ? halves.among : halves.others).items;
    items.push_back(map.key(i));
    items.push_back(map.value(i));
  }
  return halves;
}

}  // namespace damper::proxy
