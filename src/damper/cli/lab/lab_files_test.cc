#include "damper/cli/lab/lab_files.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/cli/files_testing.h"

namespace damper::cli {
namespace {

using LabFiles = FilesTest;

constexpr const char* kScenario = R"(scenario: mine
about: Mine.
services: { db: { workers: 1, service_time: 1ms } }
clients: { app: { calls: db, rate: 10 } }
variants: { a: {}, b: {} }
)";

TEST_F(LabFiles, ABuiltInScenarioIsFoundByItsName) {
  const auto scenarios = load_scenarios("storm", {}, streams_);
  ASSERT_TRUE(scenarios) << scenarios.error();
  EXPECT_EQ(scenarios->front().name, "storm");
}

TEST_F(LabFiles, AFileIsReadAndSoIsStandardInput) {
  const auto file = load_scenarios(write("mine.yaml", kScenario), {}, streams_);
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->size(), 2U);
  in_.str(kScenario);
  const auto in = load_scenarios("-", {}, streams_);
  ASSERT_TRUE(in) << in.error();
  EXPECT_EQ(in->front().title(), "mine/a");
}

TEST_F(LabFiles, VariantsAreChosenInTheOrderInWhichTheyAreNamed) {
  const auto chosen = load_scenarios(write("mine.yaml", kScenario), {"b", "a"}, streams_);
  ASSERT_TRUE(chosen) << chosen.error();
  EXPECT_EQ((*chosen)[0].variant, "b");
  EXPECT_EQ((*chosen)[1].variant, "a");
}

TEST_F(LabFiles, AnUnknownVariantIsOneSentence) {
  const auto chosen = load_scenarios(write("mine.yaml", kScenario), {"c"}, streams_);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error(), "unknown variant \"c\" (accepted: a, b)");
}

TEST_F(LabFiles, AMissingFileAndAnUnknownNameAreOneSentenceEach) {
  const auto missing = load_scenarios(path("missing.yaml"), {}, streams_);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("missing.yaml: "), std::string::npos) << missing.error();
  const auto unknown = load_scenarios("strom", {}, streams_);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("did you mean storm?"), std::string::npos) << unknown.error();
}

TEST_F(LabFiles, AScenarioCanBePlayedUnderAnotherPolicy) {
  const auto scenarios = load_scenarios("storm", {}, streams_);
  ASSERT_TRUE(scenarios);
  const auto changed = under_policy(
      scenarios->front(), write("policy.yaml", "route: {retry_policy: {num_retries: 7}}\n"));
  ASSERT_TRUE(changed) << changed.error();
  EXPECT_EQ(changed->policy_for("api").call.max_attempts, 8);
  const auto plain = under_policy(*changed, "default");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->policy_for("api").call.max_attempts, 3);
  const auto other = under_policy(*changed, write("other.yaml", "routes: {a: {}, b: {}}\n"));
  ASSERT_FALSE(other);
  EXPECT_EQ(
      other.error(),
      path("other.yaml") + ": has no route for the service api, called by the clients controllers");
  const auto broken = under_policy(*changed, write("broken.yaml", "route: {retry: 7}\n"));
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().find("broken.yaml:1:9: unknown key \"retry\""), std::string::npos)
      << broken.error();
}

}  // namespace
}  // namespace damper::cli
