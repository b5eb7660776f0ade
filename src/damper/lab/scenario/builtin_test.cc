#include "damper/lab/scenario/builtin.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "damper/lab/report/report.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/runs/runs.h"
#include "damper/lab/scenario/scenario_file.h"

// Not under tsan: its threads are play_all's, which runs_test.cc shows.

namespace damper::lab {
namespace {

std::string variants_of(std::string_view name) {
  const auto scenarios = load_builtin(name);
  if (!scenarios) return to_string(scenarios.error());
  std::string variants;
  for (const Scenario& scenario : *scenarios) {
    variants += (variants.empty() ? "" : " ") + scenario.variant;
  }
  return variants;
}

TEST(Builtin, EachLoadsUnderItsOwnNameAndSaysWhatItIsAbout) {
  EXPECT_EQ(builtins().size(), 15U);
  for (const Builtin& builtin : builtins()) {
    const auto scenarios = load_scenario(builtin.text, builtin.name);
    ASSERT_TRUE(scenarios) << to_string(scenarios.error());
    EXPECT_EQ(scenarios->front().name, builtin.name);
    EXPECT_EQ(scenarios->front().about, builtin.about);
    EXPECT_TRUE(builtin.about.ends_with('.')) << builtin.name;
    EXPECT_EQ(builtin.about.find(". "), std::string::npos) << builtin.name;
  }
}

TEST(Builtin, TheyComeInTheOrderInWhichPeopleShouldMeetThem) {
  EXPECT_EQ(builtins().front().name, "storm");
  EXPECT_EQ(builtins().back().name, "reconcile-storm");
}

TEST(Builtin, TheyHaveTheVariantsThatArePublished) {
  EXPECT_EQ(variants_of("storm"), "damper floor naive");
  EXPECT_EQ(variants_of("webhook-herd"), "none full equal decorrelated");
  EXPECT_EQ(variants_of("layers"), "owned unowned budget");
  EXPECT_EQ(variants_of("aws-occ"), "none exponential equal full decorrelated");
  EXPECT_EQ(variants_of("metastable-db"), "plain budget damper");
  EXPECT_EQ(variants_of("queue-collapse"), "fifo lifo overload");
  EXPECT_EQ(variants_of("bucket-vs-breaker"), "none three bucket breaker damper");
  EXPECT_EQ(variants_of("retry-collapse"), "plain jittered damper");
  EXPECT_EQ(variants_of("tail-fanout"), "hundred two-thousand");
  EXPECT_EQ(variants_of("tail-hedge"), "plain hedged shared-fate");
  EXPECT_EQ(variants_of("overload"), "fifo shed burst throttle");
  EXPECT_EQ(variants_of("reconcile-storm"), "damper client-go naive");
}

TEST(Builtin, OneIsFoundByItsName) {
  ASSERT_NE(find_builtin("layers"), nullptr);
  EXPECT_EQ(find_builtin("layers")->name, "layers");
  EXPECT_EQ(find_builtin("layer"), nullptr);
  EXPECT_EQ(find_builtin("template"), nullptr);
  EXPECT_EQ(variants_of("layer").substr(0, 70),
            "layer: is no built-in scenario; did you mean layers? (there are: storm");
}

TEST(Builtin, TheTemplateLoadsAndShowsEachPart) {
  const auto scenarios = load_scenario(scenario_template(), "new.yaml");
  ASSERT_TRUE(scenarios) << to_string(scenarios.error());
  EXPECT_EQ(scenarios->size(), 2U);
  EXPECT_FALSE(scenarios->front().faults.empty());
  EXPECT_FALSE(scenarios->front().expect.empty());
  EXPECT_FALSE(scenarios->front().map.loads.empty());
}

TEST(Builtin, EveryPromiseHolds) {
  for (const Builtin& builtin : builtins()) {
    Report report;
    report.sets = play_all(*load_builtin(builtin.name), {.runs = 1}).sets;
    const std::vector<Promise> promises = check_expectations(report);
    EXPECT_FALSE(promises.empty()) << builtin.name;
    for (const Promise& promise : promises) {
      EXPECT_TRUE(promise.held && promise.checked) << builtin.name << ": " << promise.sentence;
    }
  }
}

// The trigger is gone, and plain retries alone keep it down; the default policy recovers.
TEST(Builtin, PlainRetriesStayCollapsedAndTheDefaultPolicyRecoversWithEverySeed) {
  const int seeds = DAMPER_INSTRUMENTED ? 20 : 200;  // A sanitizer learns no more from the rest.
  std::vector<Scenario> scenarios = *load_builtin("metastable-db");
  std::erase_if(scenarios, [](const Scenario& scenario) { return scenario.variant == "budget"; });
  ASSERT_EQ(scenarios.size(), 2U);
  for (Scenario& scenario : scenarios) scenario.length = std::chrono::seconds(200);
  const Runs runs = play_all(scenarios, {.runs = seeds});
  EXPECT_EQ(runs.sets[0].scenario.variant, "plain");
  EXPECT_EQ(collapsed_runs(runs.sets[0]).k, seeds);
  EXPECT_EQ(collapsed_runs(runs.sets[1]).k, 0);
  EXPECT_EQ(collapsed_runs(runs.sets[1]).n, seeds);
}

// 500 controllers under the default policy: whatever the seed.
TEST(Builtin, TheStormStaysSmallWithEverySeed) {
  const std::vector<Scenario> scenarios = *load_builtin("storm");
  const Runs runs = play_all({scenarios.front()}, {.runs = 20});
  for (const Record& record : runs.sets[0].records) {
    EXPECT_LE(find_measure("attempts_per_request_in_fault")->of(scenarios.front(), record), 1.2);
    EXPECT_LE(find_measure("back_after")->of(scenarios.front(), record), 2);
  }
}

// While the API server is away it gets no more than in calm weather, 2000 a second.
TEST(Builtin, TheReconcileStormStaysSmallWithEverySeed) {
  const std::vector<Scenario> scenarios = *load_builtin("reconcile-storm");
  const Runs runs = play_all({scenarios.front()}, {.runs = 10});
  for (const Record& record : runs.sets[0].records) {
    EXPECT_LE(find_measure("runs_per_event_in_fault")->of(scenarios.front(), record), 1.1);
    EXPECT_LE(find_measure("load_in_fault")->of(scenarios.front(), record), 2000);
  }
}

}  // namespace
}  // namespace damper::lab
