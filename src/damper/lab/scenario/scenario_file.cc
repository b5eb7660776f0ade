#include "damper/lab/scenario/scenario_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/scenario_schema.h"

namespace damper::lab {
namespace {

using config::Error;
using config::SourceLocation;
using config::Tree;
using text::in_quotes;
using Names = std::vector<std::string_view>;

// The position of the key's pair; nothing when the map has none, or is no map.
std::optional<std::size_t> find_pair(const Tree& map, std::string_view key) {
  for (std::size_t i = 0; map.is_map() && i < map.pairs(); ++i) {
    if (map.key(i).text == key) return i;
  }
  return std::nullopt;
}

Tree without(Tree map, std::string_view key) {
  if (const auto pair = find_pair(map, key)) {
    const auto at = map.items.begin() + static_cast<std::ptrdiff_t>(2 * *pair);
    map.items.erase(at, at + 2);
  }
  return map;
}

Names keys_of(const Tree* map) {
  Names words;
  for (std::size_t i = 0; map != nullptr && map->is_map() && i < map->pairs(); ++i) {
    words.push_back(map->key(i).text);
  }
  return words;
}

Names variant_keys() {
  Names words = schema<Scenario>().words();
  std::erase(words, "scenario");
  std::erase(words, "variants");
  return words;
}

// "unknown X "dbb" in Y; did you mean db? (accepted: api, db)", when the words lack it.
std::optional<std::string> find_unknown(std::string_view what, std::string_view word,
                                        std::string_view where, const Names& words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  return "unknown " + std::string(what) + ' ' + in_quotes(word) + " in " + std::string(where) +
         text::suggestion(word, words) + " (accepted: " + text::joined(words) + ")";
}

class Loader {
 public:
  Loader(const Tree& top, std::string_view file)
      : file_(file), variants_(top.find("variants")), base_(without(top, "variants")) {
    if (const auto pair = find_pair(top, "variants")) variants_place_ = top.key(*pair).place;
  }

  [[nodiscard]] Expected<std::vector<Scenario>, Error> load() {
    std::vector<Scenario> scenarios;
    if (variants_ == nullptr) {
      if (auto wrong = add(base_, "", scenarios)) return unexpected(*std::move(wrong));
      return scenarios;
    }
    if (!variants_->is_map() || variants_->pairs() == 0 || variants_->pairs() > kMostVariants) {
      return unexpected(error(variants_place_, "variants must be a map from 1 to " +
                                                   std::to_string(kMostVariants) +
                                                   " names to what is different"));
    }
    for (std::size_t i = 0; i < variants_->pairs(); ++i) {
      const Tree& name = variants_->key(i);
      const Tree& over = variants_->value(i);
      if (auto wrong = check_variant(name, over)) return unexpected(*std::move(wrong));
      const Tree* policy = over.find("policy");
      const bool replaced = policy != nullptr && policy->kind != Tree::Kind::null;
      const Tree& lower = replaced ? without_policy() : base_;
      const Tree whole = over.is_map() ? config::merged(lower, over) : base_;
      if (auto wrong = add(whole, name.text, scenarios)) return unexpected(*std::move(wrong));
    }
    return scenarios;
  }

 private:
  [[nodiscard]] Error error(SourceLocation place, std::string sentence) const {
    return {.file = std::string(file_), .place = place, .sentence = std::move(sentence)};
  }

  const Tree& without_policy() {
    if (!without_policy_) without_policy_ = without(base_, "policy");
    return *without_policy_;
  }

  [[nodiscard]] std::optional<Error> check_variant(const Tree& name, const Tree& over) const {
    if (const auto wrong = config::read_value("a variant's name", kName, name); !wrong) {
      return error(name.place, wrong.error().sentence);
    }
    const std::string called = "variant " + name.text;
    const Names words = variant_keys();
    if (over.kind == Tree::Kind::null) return std::nullopt;
    if (!over.is_map()) {
      return error(name.place,
                   called + " must be a map of keys (accepted: " + text::joined(words) + ")");
    }
    for (std::size_t i = 0; i < over.pairs(); ++i) {
      const Tree& key = over.key(i);
      if (auto wrong = find_unknown("key", key.text, called, words)) {
        return error(key.place, *std::move(wrong));
      }
      if (key.text == "services" || key.text == "clients" || key.text == "controllers") {
        if (auto wrong = check_names(key.text, over.value(i), called)) return wrong;
      }
    }
    return std::nullopt;
  }

  // That a variant changes what is there.
  [[nodiscard]] std::optional<Error> check_names(std::string_view part, const Tree& over,
                                                 const std::string& called) const {
    const std::string_view what = part == "services" ? "service" : part;
    const Names known = keys_of(base_.find(part));
    for (std::size_t i = 0; over.is_map() && i < over.pairs(); ++i) {
      if (auto wrong = find_unknown(what, over.key(i).text, called, known)) {
        return error(over.key(i).place, *std::move(wrong));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Error> add(const Tree& tree, std::string_view variant,
                                         std::vector<Scenario>& scenarios) const {
    Expected<Scenario, Error> scenario = read_scenario(tree, file_);
    if (!scenario) return scenario.error();
    scenario->variant = variant;
    if (auto wrong = find_error(*scenario)) return wrong;
    if (auto wrong = check_routes(*scenario)) return wrong;
    if (auto wrong = check_promises(*scenario)) return wrong;
    scenarios.push_back(*std::move(scenario));
    return std::nullopt;
  }

  // That each route of the scenario's own policy is a service's.
  [[nodiscard]] std::optional<Error> check_routes(const Scenario& scenario) const {
    Names services;
    for (const ServiceSpec& service : scenario.services) services.emplace_back(service.name);
    for (const policy::Route& route : scenario.policy.routes) {
      if (route.name.empty()) continue;
      if (auto wrong = find_unknown("service", route.name, "policy", services)) {
        return error(route.place, *std::move(wrong));
      }
    }
    return std::nullopt;
  }

  // That a promise which compares names a variant.
  [[nodiscard]] std::optional<Error> check_promises(const Scenario& scenario) const {
    const Names variants = keys_of(variants_);
    for (const Expectation& promise : scenario.expect) {
      if (promise.of.empty()) continue;
      if (auto wrong = find_unknown("variant", promise.of, "a promise", variants)) {
        return error(promise.place, *std::move(wrong));
      }
    }
    return std::nullopt;
  }

  std::string_view file_;
  const Tree* variants_;
  SourceLocation variants_place_;
  Tree base_;  // All but the variants.
  std::optional<Tree> without_policy_;
};

}  // namespace

Expected<Scenario, Error> read_scenario(const Tree& tree, std::string_view file) {
  Scenario scenario;
  scenario.file = file;
  config::Reader reader(file);
  if (auto wrong =
          reader.read(schema<Scenario>(), tree, SourceLocation{1, 1}, "the scenario", scenario)) {
    return unexpected(*std::move(wrong));
  }
  for (FaultSpec& fault : scenario.faults) {
    if (fault.length == Duration{0} && fault.at < scenario.length) {
      fault.length = scenario.length - fault.at;
    }
  }
  return scenario;
}

Expected<std::vector<Scenario>, Error> load_scenario(std::string_view text, std::string_view file) {
  const Expected<Tree, Error> tree = config::parse_yaml(text, file);
  if (!tree) return unexpected(tree.error());
  return Loader(*tree, file).load();
}

Expected<std::vector<Scenario>, Error> load_scenario_file(const std::string& path) {
  const Expected<std::string, Error> text = policy::read_file(path);
  if (!text) return unexpected(text.error());
  return load_scenario(*text, path);
}

}  // namespace damper::lab
