#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "damper/base/text/json_reader.h"
#include "damper/cli/program_testing.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/builtin.h"
#include "damper/policy/file/policy_file.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::cli {
namespace {

using config::Tree;
using text::JsonValue;

// A Validator checks a YAML tree against a JSON Schema, for the keywords that `damper schema`
// emits. A scalar that looks like a number or a boolean is also a string: the tree has no quotes.
class Validator {
 public:
  explicit Validator(const std::string& file) {
    const Result printed = damper({"schema", file});
    EXPECT_EQ(printed.status, 0) << printed.err;
    auto schema = text::read_json(printed.out, {.bytes = 1 << 20, .depth = 64, .values = 100'000});
    EXPECT_TRUE(schema) << schema.error();
    if (schema) schema_ = *schema;
    EXPECT_EQ(schema_.find("$schema")->text, "https://json-schema.org/draft/2020-12/schema");
  }

  // The path of the first value that is not valid; empty when all are.
  [[nodiscard]] std::string find_invalid(const std::string& yaml) const {
    const auto tree = config::parse_yaml(yaml, "f.yaml");
    EXPECT_TRUE(tree) << to_string(tree.error());
    return find_invalid(*tree, schema_, "top");
  }

 private:
  static std::optional<double> number(const Tree& tree) {
    double value = 0;
    const char* end = tree.text.data() + tree.text.size();
    const auto [stop, error] = std::from_chars(tree.text.data(), end, value);
    const bool is_number = tree.is_scalar() && error == std::errc() && stop == end;
    return is_number ? std::optional(value) : std::nullopt;
  }

  static bool is_of(const Tree& tree, std::string_view type) {
    if (type == "object") return tree.is_map();
    if (type == "array") return tree.kind == Tree::Kind::sequence;
    if (type == "null") return tree.kind == Tree::Kind::null;
    if (type == "boolean") return tree.text == "true" || tree.text == "false";
    if (type == "number") return number(tree).has_value();
    if (type == "integer") return number(tree) && tree.text.find('.') == std::string::npos;
    return tree.is_scalar();
  }

  static bool is_equal(const Tree& tree, const JsonValue& value) {
    const bool is_text = value.kind != JsonValue::Kind::boolean;
    return tree.is_scalar() && tree.text == (is_text         ? value.text
                                             : value.boolean ? "true"
                                                             : "false");
  }

  [[nodiscard]] bool keeps_scalar(const Tree& tree, const JsonValue& schema) const {
    if (const JsonValue* type = schema.find("type")) {
      const bool fits = type->items.empty()
                            ? is_of(tree, type->text)
                            : std::any_of(type->items.begin(), type->items.end(),
                                          [&](const auto& one) { return is_of(tree, one.text); });
      if (!fits) return false;
    }
    const JsonValue* words = schema.find("enum");
    if (words != nullptr && std::none_of(words->items.begin(), words->items.end(),
                                         [&](const auto& one) { return is_equal(tree, one); })) {
      return false;
    }
    if (const JsonValue* only = schema.find("const"); only != nullptr && !is_equal(tree, *only)) {
      return false;
    }
    if (const JsonValue* any = schema.find("anyOf")) {
      if (std::none_of(any->items.begin(), any->items.end(),
                       [&](const auto& one) { return find_invalid(tree, one, "x").empty(); })) {
        return false;
      }
    }
    if (const auto value = number(tree)) {
      const JsonValue* low = schema.find("minimum");
      const JsonValue* high = schema.find("maximum");
      return (low == nullptr || *value >= low->as_number()) &&
             (high == nullptr || *value <= high->as_number());
    }
    const JsonValue* pattern = schema.find("pattern");
    return pattern == nullptr || !tree.is_scalar() ||
           std::regex_search(tree.text, std::regex(pattern->text));
  }

  [[nodiscard]] std::string find_invalid(const Tree& tree, const JsonValue& schema,
                                         const std::string& path) const {
    if (const JsonValue* reference = schema.find("$ref")) {
      const JsonValue* definition = schema_.find("$defs")->find(reference->text.substr(8));
      return definition == nullptr ? path + " has no definition"
                                   : find_invalid(tree, *definition, path);
    }
    if (!keeps_scalar(tree, schema)) return path;
    if (tree.kind == Tree::Kind::sequence) {
      const JsonValue* items = schema.find("items");
      const JsonValue* most = schema.find("maxItems");
      if (most != nullptr && static_cast<double>(tree.items.size()) > most->as_number())
        return path;
      for (const Tree& item : tree.items) {
        if (items == nullptr) break;
        if (auto wrong = find_invalid(item, *items, path + "[]"); !wrong.empty()) return wrong;
      }
    }
    const JsonValue* required = schema.find("required");
    for (std::size_t i = 0; tree.is_map() && required != nullptr && i < required->items.size();
         ++i) {
      bool found = false;
      for (std::size_t pair = 0; pair < tree.pairs(); ++pair) {
        found = found || tree.key(pair).text == required->items[i].text;
      }
      if (!found) return path + " needs " + required->items[i].text;
    }
    for (std::size_t i = 0; tree.is_map() && i < tree.pairs(); ++i) {
      const std::string& key = tree.key(i).text;
      const std::string inner = std::string(path).append(".").append(key);
      const JsonValue* properties = schema.find("properties");
      const JsonValue* property = properties == nullptr ? nullptr : properties->find(key);
      const JsonValue* other = schema.find("additionalProperties");
      if (property == nullptr) property = other;
      if (property == nullptr) continue;
      if (property->kind == JsonValue::Kind::boolean) return inner;
      if (auto wrong = find_invalid(tree.value(i), *property, inner); !wrong.empty()) return wrong;
    }
    return {};
  }

  JsonValue schema_;
};

TEST(Schema, EveryBuiltInScenarioIsValidAndATypoIsNot) {
  const Validator validator("scenario");
  for (const lab::Builtin& builtin : lab::builtins()) {
    EXPECT_EQ(validator.find_invalid(std::string(builtin.text)), "") << builtin.name;
  }
  EXPECT_EQ(validator.find_invalid("{scenario: s, services: {db: {worker: 1}}}"),
            "top.services.db.worker");
  EXPECT_EQ(validator.find_invalid("{scenario: s}"), "top needs services");
  EXPECT_EQ(validator.find_invalid("{scenario: s, services: {db: {queue: filo}}}"),
            "top.services.db.queue");
  EXPECT_EQ(validator.find_invalid("{scenario: s, services: {db: }, faults: [{on: db}]}"),
            "top.faults[] needs kind");
}

// print() writes every key, so that each is in the schema as the loader reads it.
TEST(Schema, EveryEffectivePolicyIsValidAndATypoIsNot) {
  const Validator validator("policy");
  for (const std::string yaml :
       {"route: {}",
        "routes: {a: {circuit_breaker: on, concurrency_limit: on, client_throttle: on, facts: on, "
        "attempt_rate_limit: on, "
        "adaptive_timeout: on, hedge_policy: {max_hedges: 1}}, b: {}}"}) {
    const auto file = policy::load(yaml, "p.yaml");
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(validator.find_invalid(yaml), "");
    EXPECT_EQ(validator.find_invalid(print(*file)), "") << print(*file);
  }
  EXPECT_EQ(validator.find_invalid("route: {outlier_detection: {interval: 5s}}"), "");
  EXPECT_EQ(validator.find_invalid("route: {timeot: 1s}"), "top.route.timeot");
  EXPECT_EQ(validator.find_invalid("route: {timeout: 1 s}"), "top.route.timeout");
  EXPECT_EQ(validator.find_invalid("route: {timeout: 1}"), "top.route.timeout");
  EXPECT_EQ(validator.find_invalid("route: {retry_policy: {num_retries: 100}}"),
            "top.route.retry_policy.num_retries");
  EXPECT_EQ(validator.find_invalid("route: {circuit_breaker: {window: 5s, prob: 1}}"),
            "top.route.circuit_breaker");
}

TEST(Schema, TheProxysExamplesAreValidAndATypoIsNot) {
  const Validator validator("proxy");
  std::ifstream in(DAMPER_PACKAGED_CONFIG);
  std::ostringstream example;
  example << in.rdbuf();
  ASSERT_FALSE(example.str().empty());
  EXPECT_EQ(validator.find_invalid(example.str()), "");
  const std::string yaml =
      "listeners: {l: {address: ':0'}}\n"
      "clusters: {c: {endpoints: [http://a], retry_budget: on}}\n"
      "admin: on\nretry_budget: on\n"
      "routes: {r: {match: {hosts: a, headers: {x: 1}}, rate_limit: {requests_per_second: 1}, "
      "admission_control: on, timeout: 1s}}\n";
  const auto config = proxy::load_proxy(yaml, "p.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(validator.find_invalid(yaml), "");
  EXPECT_EQ(validator.find_invalid(print_proxy(*config)), "") << print_proxy(*config);
  EXPECT_EQ(validator.find_invalid("clusters: {c: {endpoint: http://a}}"),
            "top.clusters.c needs endpoints");
  EXPECT_EQ(validator.find_invalid("clusters: {c: {endpoints: http://a, protocl: http1}}"),
            "top.clusters.c.protocl");
  EXPECT_EQ(validator.find_invalid("thread: 1"), "top.thread");
  EXPECT_EQ(validator.find_invalid("threads: 257"), "top.threads");
  EXPECT_EQ(validator.find_invalid("routes: {r: {timeout: 1s, mach: {}}}"), "top.routes.r.mach");
}

TEST(Schema, AnotherKindOfFileIsAnError) {
  const Result result = damper({"schema", "polcy"});
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.err.find("did you mean policy?"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace damper::cli
