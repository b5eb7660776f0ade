#include "damper/lab/scenario/scenario_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "damper/base/text/words.h"
#include "damper/lab/scenario/scenario_file.h"

namespace damper::lab {
namespace {

// A value of the form that is not the default.
Value other(const Form& form, const Value& standard) {
  switch (form.kind) {
    case ValueKind::duration:
    case ValueKind::integer:
    case ValueKind::boolean:
    case ValueKind::choice: {
      const auto high = static_cast<std::int64_t>(form.high);
      return standard == Value(high) ? high - 1 : high;
    }
    case ValueKind::number:
    case ValueKind::share:
      return standard == Value(form.high) ? form.low : form.high;
    case ValueKind::distribution:
      return Distribution::exponential(std::chrono::milliseconds(7));
    case ValueKind::name:
    case ValueKind::text:
      return std::string("another");
    case ValueKind::numbers:
    case ValueKind::wholes:
      return std::vector<double>{form.low, form.high};
  }
  return {};
}

// That setting a key changes what it gets, and nothing that another key gets.
template <class T>
void expect_own_fields() {
  const auto keys = schema<T>().keys;
  std::set<std::string_view> paths;
  for (const SchemaKey<T>& key : keys) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
    T thing{};
    const Value standard = key.get(thing);
    EXPECT_TRUE(key.required || !find_error(key.path, key.form, standard)) << key.path;
    const Value value = other(key.form, standard);
    ASSERT_NE(value, standard) << key.path;
    key.set(thing, Value(value));
    EXPECT_EQ(key.get(thing), value) << key.path;
    const T fresh{};
    for (const SchemaKey<T>& each : keys) {
      if (each.path != key.path) {
        EXPECT_EQ(each.get(thing), each.get(fresh)) << key.path << " changes " << each.path;
      }
    }
  }
  for (const Part& part : schema<T>().parts) {
    EXPECT_TRUE(paths.insert(part.path).second) << part.path;
    EXPECT_TRUE(part.doc.ends_with('.')) << part.path;
  }
}

TEST(ScenarioSchema, EachKeyHasAFieldOfItsOwnAndAValidDefault) {
  expect_own_fields<Scenario>();
  expect_own_fields<ServiceSpec>();
  expect_own_fields<CallSpec>();
  expect_own_fields<ClientsSpec>();
  expect_own_fields<ControllersSpec>();
  expect_own_fields<FaultSpec>();
  expect_own_fields<Expectation>();
}

TEST(ScenarioSchema, TheWordsOfAPartAreInTheOrderOfTheTable) {
  EXPECT_EQ(text::joined(words_in<ServiceSpec>("queue")), "discipline, bound, target, interval");
  EXPECT_EQ(text::joined(words_in<ServiceSpec>("limit")), "kind, min, initial, max");
  EXPECT_EQ(text::joined(words_in<Scenario>("map")), "length, load, trigger");
  EXPECT_EQ(text::joined(words_in<Scenario>("")),
            "scenario, about, length, bucket, ownership, deadlines_travel, services, clients, "
            "controllers, faults, policy, variants, expect, map");
}

TEST(ScenarioSchema, AThingIsHeldToTheBoundsOfItsKeys) {
  ClientsSpec clients;
  clients.calls = "db";
  EXPECT_EQ(find_bound_error(clients), std::nullopt);
  clients.rate = -1;
  EXPECT_EQ(find_bound_error(clients), "rate must be a number from 0.001 to 10000000, not -1");
}

std::string guide() {
  std::ifstream in(DAMPER_GUIDE);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "Every key" of the guide is what reference() says. To bring it up to date, replace all below that
// heading by what this test prints.
TEST(ScenarioSchema, TheGuideSaysWhatTheSchemaSays) {
  const std::string text = guide();
  const std::string heading = "\n## Every key\n";
  const std::size_t at = text.find(heading);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.substr(at + heading.size()), reference()) << reference();
}

// The next block of that language after `at`, which is moved behind it.
std::string next_block(const std::string& text, const std::string& language, std::size_t& at) {
  const std::string fence = "```" + language + "\n";
  const std::size_t start = text.find(fence, at) + fence.size();
  at = text.find("```", start);
  return text.substr(start, at - start);
}

TEST(ScenarioSchema, TheScenariosOfTheGuideLoadAndTheRefusedOnesSayWhy) {
  const std::string text = guide();
  int loaded = 0;
  for (std::size_t at = 0; (at = text.find("<!-- scenario -->", at)) != std::string::npos;) {
    const auto scenarios = load_scenario(next_block(text, "yaml", at), "scenario.yaml");
    EXPECT_TRUE(scenarios) << to_string(scenarios.error());
    ++loaded;
  }
  EXPECT_EQ(loaded, 3);
  std::size_t at = text.find("<!-- refused scenario -->");
  ASSERT_NE(at, std::string::npos);
  const auto refused = load_scenario(next_block(text, "yaml", at), "scenario.yaml");
  ASSERT_FALSE(refused);
  at += 3;  // Behind the fence.
  EXPECT_EQ(next_block(text, "text", at), to_string(refused.error()) + '\n');
}

}  // namespace
}  // namespace damper::lab
