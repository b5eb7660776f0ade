#include "damper/lab/scenario/scenario_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

const std::string kBase = R"(scenario: s
length: 10s
services:
  db: {workers: 3, queue: lifo}
clients:
  app: {calls: db, rate: 5}
policy: {route: {timeout: 9s, retry_policy: {num_retries: 7}}}
)";

std::vector<Scenario> load(const std::string& yaml) {
  auto scenarios = load_scenario(yaml, "s.yaml");
  EXPECT_TRUE(scenarios) << to_string(scenarios.error());
  return scenarios ? *std::move(scenarios) : std::vector<Scenario>(9);
}

std::string error_of(const std::string& yaml) {
  const auto scenarios = load_scenario(yaml, "s.yaml");
  return scenarios ? "ok" : to_string(scenarios.error());
}

TEST(ScenarioFile, WithoutVariantsItIsOneScenario) {
  const auto scenarios = load(kBase);
  ASSERT_EQ(scenarios.size(), 1U);
  EXPECT_EQ(scenarios[0].title(), "s");
  EXPECT_EQ(scenarios[0].services[0].workers, 3);
}

TEST(ScenarioFile, EachVariantIsPutOverTheRest) {  // Invariant (3).
  const auto scenarios = load(kBase + R"(variants:
  same:
  also: {}
  small: {length: 5s, services: {db: {workers: 1}}, clients: {app: {count: 2}}}
)");
  ASSERT_EQ(scenarios.size(), 3U);
  EXPECT_EQ(scenarios[0].title(), "s/same");
  EXPECT_EQ(scenarios[0].services[0].workers, 3);
  EXPECT_EQ(scenarios[1].title(), "s/also");
  EXPECT_EQ(scenarios[2].title(), "s/small");
  EXPECT_EQ(scenarios[2].length, 5s);
  EXPECT_EQ(scenarios[2].services[0].workers, 1);
  EXPECT_EQ(scenarios[2].services[0].queue, Discipline::lifo);
  EXPECT_EQ(scenarios[2].clients[0].count, 2);
  EXPECT_EQ(scenarios[2].clients[0].rate, 5);
}

TEST(ScenarioFile, AVariantsPolicyReplacesTheOtherWhole) {
  const auto scenarios = load(kBase + R"(variants:
  inherited: {}
  own: {policy: {route: {timeout: 1s}}}
  none: {policy: }
)");
  ASSERT_EQ(scenarios.size(), 3U);
  EXPECT_EQ(scenarios[0].policy_for("db").call.timeout, 9s);
  EXPECT_EQ(scenarios[0].policy_for("db").call.max_attempts, 8);
  EXPECT_EQ(scenarios[1].policy_for("db").call.timeout, 1s);
  EXPECT_EQ(scenarios[1].policy_for("db").call.max_attempts, 3);
  EXPECT_EQ(scenarios[2].policy_for("db").call.timeout, 5s);
}

TEST(ScenarioFile, AVariantTakesAKeyAwayWithNothing) {
  const auto scenarios = load(kBase + R"(variants:
  paced: {clients: {app: {rate: , arrivals: constant, every: 1s}}}
)");
  EXPECT_EQ(scenarios[0].clients[0].rate, 0);
  EXPECT_EQ(scenarios[0].clients[0].every, 1s);
}

TEST(ScenarioFile, AVariantChangesWhatIsThere) {
  EXPECT_EQ(error_of(kBase + "variants: {a: {services: {dbb: {workers: 1}}}}"),
            "s.yaml:8:27: unknown service \"dbb\" in variant a; did you mean db? (accepted: db)");
  EXPECT_EQ(
      error_of(kBase + "variants: {a: {clients: {apps: {rate: 1}}}}"),
      "s.yaml:8:26: unknown clients \"apps\" in variant a; did you mean app? (accepted: app)");
  EXPECT_EQ(
      error_of(kBase + "variants: {a: {lengths: 3s}}"),
      "s.yaml:8:16: unknown key \"lengths\" in variant a; did you mean length? (accepted: "
      "about, length, bucket, ownership, deadlines_travel, services, clients, controllers, faults, "
      "policy, expect, map)");
  EXPECT_EQ(error_of(kBase + "variants: {a: {variants: {b: {}}}}").substr(0, 42),
            "s.yaml:8:16: unknown key \"variants\" in var");
  EXPECT_EQ(error_of(kBase + "variants: {a: {scenario: b}}").substr(0, 42),
            "s.yaml:8:16: unknown key \"scenario\" in var");
}

TEST(ScenarioFile, VariantsAreAMapOfAFewNames) {
  const std::string wrong =
      "s.yaml:8:1: variants must be a map from 1 to 32 names to what is different";
  EXPECT_EQ(error_of(kBase + "variants:"), wrong);
  EXPECT_EQ(error_of(kBase + "variants: {}"), wrong);
  EXPECT_EQ(error_of(kBase + "variants: [a]"), wrong);
  std::string many = kBase + "variants: {";
  for (int i = 0; i < 32; ++i) many += "v" + std::to_string(i) + ": {},";
  EXPECT_EQ(error_of(many + "}"), "ok");
  EXPECT_EQ(error_of(many + "w: {}}"), wrong);
  EXPECT_EQ(error_of(kBase + "variants: {a/b: {}}"),
            "s.yaml:8:12: a variant's name must be 1 to 100 letters, digits or . _ -, not \"a/b\"");
  EXPECT_EQ(error_of(kBase + "variants: {a: 3}").substr(0, 42),
            "s.yaml:8:12: variant a must be a map of ke");
}

TEST(ScenarioFile, ARouteOfThePolicyIsAService) {
  EXPECT_EQ(error_of(kBase + "variants: {a: {policy: {routes: {dbb: {}}}}}"),
            "s.yaml:8:34: unknown service \"dbb\" in policy; did you mean db? (accepted: db)");
  EXPECT_EQ(error_of(kBase + "variants: {a: {policy: {routes: {db: {}}}}}"), "ok");
}

TEST(ScenarioFile, APromiseIsComparedWithAVariant) {
  const std::string promise = "{expect: [{measure: success, of: naive, at_most: 1}]}";
  EXPECT_EQ(error_of(kBase + "variants: {a: " + promise + ", naive: }"), "ok");
  EXPECT_EQ(error_of(kBase + "variants: {a: " + promise + ", naiv: }"),
            "s.yaml:8:25: unknown variant \"naive\" in a promise; did you mean naiv? (accepted: a, "
            "naiv)");
  EXPECT_EQ(error_of(kBase + "expect: [{measure: success, of: naive, at_most: 1}]"),
            "s.yaml:8:10: unknown variant \"naive\" in a promise (accepted: )");
}

TEST(ScenarioFile, WhatIsLoadedCanBePlayed) {  // Invariant (1).
  EXPECT_EQ(error_of(kBase + "faults: [{on: dbb, kind: down}]"),
            "s.yaml:8:10: fault down: there is no service \"dbb\"; did you mean db? (accepted: "
            "db)");
  EXPECT_EQ(error_of("scenario: s\nservices:\n  a: {calls: [b]}\n  b: {calls: [a]}\n"
                     "clients: {app: {calls: a, rate: 1}}\n"),
            "s.yaml:4:15: services call each other in a circle: a -> b -> a");
  EXPECT_EQ(error_of(kBase + "variants: {a: {clients: {app: {processes: 9}}}}"),
            "s.yaml:8:26: clients app: processes (9) must be at most count (1)");
}

TEST(ScenarioFile, WhatIsNotAScenarioIsOneSentence) {
  EXPECT_EQ(error_of("").substr(0, 47), "s.yaml:1:1: the scenario must be a map of keys ");
  EXPECT_EQ(error_of("{").substr(0, 31), "s.yaml:1:1: is not valid YAML: ");
  EXPECT_EQ(error_of("3").substr(0, 47), "s.yaml:1:1: the scenario must be a map of keys ");
  EXPECT_EQ(error_of("variants: {a: {}}"), "s.yaml:1:1: the scenario needs the key scenario");
}

TEST(ScenarioFile, AFileIsReadOrTheErrorSaysWhyNot) {
  const std::string path = testing::TempDir() + "damper_scenario_file_test.yaml";
  std::ofstream(path) << kBase;
  const auto scenarios = load_scenario_file(path);
  ASSERT_TRUE(scenarios);
  EXPECT_EQ(scenarios->front().file, path);
  std::filesystem::remove(path);
  const auto missing = load_scenario_file(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(to_string(missing.error()), path + ": cannot be read: No such file or directory");
}

}  // namespace
}  // namespace damper::lab
