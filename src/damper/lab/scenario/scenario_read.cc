#include "damper/lab/scenario/scenario_read.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/lab/scenario/scenario_schema.h"

namespace damper::lab {
namespace {

using config::Error;
using config::SourceLocation;
using config::Tree;
using text::in_quotes;

std::string join(std::string_view part, std::string_view word) {
  return part.empty() ? std::string(word) : std::string(part) + '.' + std::string(word);
}

template <class Rows>
const auto* find_row(const Rows& rows, std::string_view path) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.path == path; });
  return found == rows.end() ? nullptr : &*found;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  // Reads the map of the part, "" for the thing itself; `called` is what errors call it.
  template <class T>
  [[nodiscard]] std::optional<Error> read_map(const Tree& map, SourceLocation place,
                                              const std::string& called, std::string_view part,
                                              T& thing) {
    const std::vector<std::string_view> words = words_in<T>(part);
    const std::string list = " (accepted: " + text::joined(words) + ")";
    if (!map.is_map()) return error(place, called + " must be a map of keys" + list);
    const auto unknown = [&](const Tree& word) {
      return error(word.place, "unknown key " + in_quotes(word.text) + " in " + called +
                                   text::suggestion(word.text, words) + list);
    };
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      const Tree& word = map.key(i);
      if (std::find(words.begin(), words.end(), word.text) == words.end()) return unknown(word);
      if (auto wrong = read_pair(word, map.value(i), called, join(part, word.text), thing)) {
        return wrong;
      }
    }
    if (part.empty()) return find_missing<T>(map, place, called);
    return std::nullopt;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {.file = std::string(file_), .place = place, .sentence = std::move(sentence)};
  }

  template <class T>
  [[nodiscard]] std::optional<Error> read_pair(const Tree& word, const Tree& value,
                                               const std::string& called, const std::string& path,
                                               T& thing) {
    if (const SchemaKey<T>* key = find_row(schema<T>().keys, path)) {
      return read_key(*key, word, value, thing);
    }
    const Part& part = *find_row(schema<T>().parts, path);
    if (!part.word.empty() && value.is_scalar()) {
      return read_key(*find_row(schema<T>().keys, part.word), word, value, thing);
    }
    return read_part(part, word, value, called, thing);
  }

  template <class T>
  [[nodiscard]] std::optional<Error> read_key(const SchemaKey<T>& key, const Tree& word,
                                              const Tree& value, T& thing) {
    Expected<Value> read = read_value(word.text, key.form, value);
    if (!read) {
      return error(value.kind == Tree::Kind::null ? word.place : value.place, read.error());
    }
    key.set(thing, *std::move(read));
    return std::nullopt;
  }

  // The first key or part that the thing needs and the map does not have.
  template <class T>
  [[nodiscard]] std::optional<Error> find_missing(const Tree& map, SourceLocation place,
                                                  const std::string& called) const {
    const auto check = [&](const auto& row) -> std::optional<Error> {
      if (!row.required) return std::nullopt;
      for (std::size_t i = 0; i < map.pairs(); ++i) {
        if (map.key(i).text == row.path) return std::nullopt;
      }
      return error(place, called + " needs the key " + std::string(row.path));
    };
    for (const SchemaKey<T>& key : schema<T>().keys) {
      if (auto wrong = check(key)) return wrong;
    }
    for (const Part& part : schema<T>().parts) {
      if (auto wrong = check(part)) return wrong;
    }
    return std::nullopt;
  }

  // "api must be a map ...": what a part must be that is something else.
  [[nodiscard]] Error must_be(const Part& part, const Tree& word) const {
    return error(word.place, word.text + " must be " + std::string(part.accepted));
  }

  [[nodiscard]] std::optional<Error> read_part(const Part& part, const Tree& word,
                                               const Tree& value, const std::string&,
                                               Scenario& scenario) {
    if (word.text == "services") {
      return read_named(part, word, value, "service", kMostServices, scenario.services);
    }
    if (word.text == "clients") {
      return read_named(part, word, value, "clients", kMostClients, scenario.clients);
    }
    if (word.text == "controllers") {
      return read_named(part, word, value, "controllers", kMostControllers, scenario.controllers);
    }
    if (word.text == "faults") return read_list(part, word, value, kMostFaults, scenario.faults);
    if (word.text == "expect") {
      return read_list(part, word, value, kMostExpectations, scenario.expect);
    }
    if (word.text == "map") return read_map(value, word.place, "map", "map", scenario);
    if (word.text == "variants") {
      return error(word.place, "variants may not stand inside of a variant");
    }
    auto policy = policy::load_part(value, word.place, "policy", file_);
    if (!policy) return policy.error();
    scenario.policy = *std::move(policy);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> read_part(const Part& part, const Tree& word,
                                               const Tree& value, const std::string& called,
                                               ServiceSpec& service) {
    if (word.text == "calls") return read_list(part, word, value, kMostCalls, service.calls);
    const std::string inner = word.text + " of " + called;
    if (word.text == "limit") {
      if (value.is_scalar() && value.text == "off") {
        service.limit.reset();
        return std::nullopt;
      }
      service.limit.emplace();
      if (value.is_scalar() && value.text == "on") return std::nullopt;
    }
    if (!value.is_map()) return must_be(part, word);
    return read_map(value, word.place, inner, part.path, service);
  }

  [[nodiscard]] std::optional<Error> read_part(const Part& part, const Tree& word,
                                               const Tree& value, const std::string& called,
                                               ControllersSpec& controllers) {
    if (!value.is_map()) return must_be(part, word);
    return read_map(value, word.place, word.text + " of " + called, part.path, controllers);
  }

  template <class T>
  [[nodiscard]] std::optional<Error> read_part(const Part& part, const Tree& word, const Tree&,
                                               const std::string&, T&) {
    return must_be(part, word);
  }

  template <class T>
  [[nodiscard]] std::optional<Error> read_named(const Part& part, const Tree& word,
                                                const Tree& value, std::string_view what,
                                                std::size_t most, std::vector<T>& things) {
    if (!value.is_map() || value.pairs() == 0) return must_be(part, word);
    if (value.pairs() > most) return too_many(word, most);
    for (std::size_t i = 0; i < value.pairs(); ++i) {
      const Tree& name = value.key(i);
      if (!is_name(name.text)) {
        return error(name.place, "a name must be " + accepted({.kind = ValueKind::name}) +
                                     ", not " + in_quotes(name.text));
      }
      T thing{.name = name.text, .place = name.place};
      Tree nothing;
      nothing.kind = Tree::Kind::map;
      const Tree& body = value.value(i).kind == Tree::Kind::null ? nothing : value.value(i);
      const std::string called = std::string(what) + ' ' + name.text;
      if (auto wrong = read_map(body, name.place, called, "", thing)) return wrong;
      if constexpr (!std::is_same_v<T, ServiceSpec>) thing.calls_place = place_of(body, "calls");
      things.push_back(std::move(thing));
    }
    return std::nullopt;
  }

  template <class T>
  [[nodiscard]] std::optional<Error> read_list(const Part& part, const Tree& word,
                                               const Tree& value, std::size_t most,
                                               std::vector<T>& things) {
    if (value.kind != Tree::Kind::sequence) return must_be(part, word);
    if (value.items.size() > most) return too_many(word, most);
    for (const Tree& item : value.items) {
      T thing;
      thing.place = item.place;
      if (auto wrong = read_item(item, thing)) return wrong;
      things.push_back(std::move(thing));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> read_item(const Tree& item, CallSpec& call) {
    if (!item.is_scalar()) return read_map(item, item.place, "a call", "", call);
    Tree word;
    word.text = "service";
    return read_key(schema<CallSpec>().keys.front(), word, item, call);
  }
  [[nodiscard]] std::optional<Error> read_item(const Tree& item, FaultSpec& fault) {
    return read_map(item, item.place, "a fault", "", fault);
  }
  [[nodiscard]] std::optional<Error> read_item(const Tree& item, Expectation& promise) {
    return read_map(item, item.place, "a promise", "", promise);
  }

  [[nodiscard]] Error too_many(const Tree& word, std::size_t most) const {
    return error(word.place, word.text + " has more than " + std::to_string(most));
  }

  static SourceLocation place_of(const Tree& map, std::string_view word) {
    for (std::size_t i = 0; i < map.pairs(); ++i) {
      if (map.key(i).text == word) return map.value(i).place;
    }
    return map.place;
  }

  std::string_view file_;
};

}  // namespace

Expected<Scenario, Error> read_scenario(const Tree& tree, std::string_view file) {
  Scenario scenario;
  scenario.file = file;
  Reader reader(file);
  if (auto wrong = reader.read_map(tree, {1, 1}, "the scenario", "", scenario)) {
    return unexpected(*std::move(wrong));
  }
  for (FaultSpec& fault : scenario.faults) {
    if (fault.length == Duration{0} && fault.at < scenario.length) {
      fault.length = scenario.length - fault.at;
    }
  }
  return scenario;
}

}  // namespace damper::lab
