#ifndef DAMPER_LAB_SCENARIO_SCENARIO_SCHEMA_H_
#define DAMPER_LAB_SCENARIO_SCENARIO_SCHEMA_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/lab/scenario/scenario.h"
#include "damper/lab/scenario/scenario_value.h"
#include "damper/policy/file/schema.h"

namespace damper::lab {

// The schema: every key that a scenario file may have, in one table for each kind of thing.
//
// Why: what reads a file, what an error lists, what find_error() holds a scenario to that was built
// by hand, and what the reference says are four views of the same facts.
// Model: a SchemaKey is a path of words joined by dots within its thing, with the form of its value
// and how to get and set it. A Part is a path with a map or a list below it; its keys are those
// that begin with its path, or those of another thing.
template <class T>
struct SchemaKey {
  std::string_view path;
  Form form;
  std::string_view doc;  // one sentence
  Value (*get)(const T&) = nullptr;
  void (*set)(T&, Value&&) = nullptr;
  bool required = false;
};

struct Part {
  std::string_view path;
  std::string_view accepted;  // what it must be
  std::string_view doc;
  std::string_view word{};  // the key that is meant when it is a single word; empty: none is
  bool required = false;
};

template <class T>
struct Schema {
  std::string_view title;  // as the reference calls it
  std::span<const SchemaKey<T>> keys;
  std::span<const Part> parts;
};

// The things. `map` is part of the scenario, `queue` and `limit` of the service, `retry_policy` and
// `retry_budget` of the controllers.
template <class T>
[[nodiscard]] const Schema<T>& schema();
template <>
const Schema<Scenario>& schema<Scenario>();
template <>
const Schema<ServiceSpec>& schema<ServiceSpec>();
template <>
const Schema<CallSpec>& schema<CallSpec>();
template <>
const Schema<ClientsSpec>& schema<ClientsSpec>();
template <>
const Schema<ControllersSpec>& schema<ControllersSpec>();
template <>
const Schema<FaultSpec>& schema<FaultSpec>();
template <>
const Schema<Expectation>& schema<Expectation>();

// The words that are accepted in the part, in the order of the table; "" is the thing itself.
template <class T>
[[nodiscard]] std::vector<std::string_view> words_in(std::string_view part) {
  std::vector<std::string_view> words;
  const auto take = [&](std::string_view path) {
    if (policy::parent(path) == part) words.push_back(policy::leaf(path));
  };
  for (const SchemaKey<T>& key : schema<T>().keys) take(key.path);
  for (const Part& inner : schema<T>().parts) take(inner.path);
  return words;
}

// What is wrong with a value of the thing, in one sentence; nothing when each is within its bounds.
template <class T>
[[nodiscard]] std::optional<std::string> find_bound_error(const T& thing) {
  for (const SchemaKey<T>& key : schema<T>().keys) {
    if (auto sentence = find_error(key.path, key.form, key.get(thing))) return sentence;
  }
  return std::nullopt;
}

// The tables in Markdown, with the measures that a promise can name: what the guide shows.
[[nodiscard]] std::string reference();

}  // namespace damper::lab

#endif  // DAMPER_LAB_SCENARIO_SCENARIO_SCHEMA_H_
