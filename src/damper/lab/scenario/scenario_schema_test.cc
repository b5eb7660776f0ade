#include "damper/lab/scenario/scenario_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "damper/config/schema_testing.h"
#include "damper/lab/scenario/scenario_file.h"

namespace damper::lab {
namespace {

TEST(ScenarioSchema, EachKeyHasAFieldOfItsOwnAndAValidDefault) {
  config::expect_sound(schema<Scenario>());
  config::expect_sound(schema<ServiceSpec>());
  config::expect_sound(schema<CallSpec>());
  config::expect_sound(schema<ClientsSpec>());
  config::expect_sound(schema<ControllersSpec>());
  config::expect_sound(schema<FaultSpec>());
  config::expect_sound(schema<Expectation>());
}

TEST(ScenarioSchema, AStructIsHeldToTheBoundsOfItsKeys) {
  ClientsSpec clients;
  clients.calls = "db";
  EXPECT_EQ(schema<ClientsSpec>().find_error(clients), std::nullopt);
  clients.rate = -1;
  EXPECT_EQ(schema<ClientsSpec>().find_error(clients),
            "rate must be a number from 0.001 to 10000000, not -1");
  clients.rate = 1;
  clients.think = Distribution::exponential(Duration{0});
  EXPECT_EQ(schema<ClientsSpec>().find_error(clients).value_or("").substr(0, 28),
            "think must be a distribution");
}

TEST(ScenarioSchema, ANameHasLettersDigitsAndFewOthers) {
  EXPECT_TRUE(parse_name("a-B_9.c"));
  EXPECT_TRUE(parse_name(std::string(100, 'a')));
  for (const std::string& name :
       {std::string(101, 'a'), std::string(), std::string("a/b"), std::string("a b")}) {
    EXPECT_FALSE(parse_name(name)) << name;
  }
}

TEST(ScenarioSchema, AnAnswerIsAnyOutcomeButSuccessAndCancelled) {
  const config::Key& answer = schema<FaultSpec>().key_at("answer");
  EXPECT_EQ(accepted(answer.form),
            "one of transient, timeout, overload, unavailable, conflict, permanent");
  FaultSpec fault;
  fault.answer = decide::Outcome::overload;
  EXPECT_EQ(schema<FaultSpec>().write(answer, fault), "overload");
  schema<FaultSpec>().set(answer, fault, std::int64_t{0});
  EXPECT_EQ(fault.answer, decide::Outcome::transient);
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
