#include "damper/lab/runs/runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "damper/lab/scenario/random_scenario_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

Scenario small(double rate) {
  Scenario scenario;
  scenario.name = "small";
  scenario.length = 2s;
  scenario.services.push_back(
      {.name = "db", .workers = 1, .service_time = Distribution::exponential(5ms)});
  scenario.clients.push_back({.name = "app", .calls = "db", .rate = rate});
  return scenario;
}

TEST(Runs, EveryScenarioIsPlayedWithTheSameSeeds) {
  const Runs runs = play_all({small(50), small(100)}, {.runs = 3, .seed = 7});
  EXPECT_FALSE(runs.interrupted);
  ASSERT_EQ(runs.sets.size(), 2U);
  for (const RunSet& set : runs.sets) {
    ASSERT_EQ(set.records.size(), 3U);
    EXPECT_EQ(set.records[0].seed, 7U);
    EXPECT_EQ(set.records[2].seed, 9U);
  }
  EXPECT_EQ(runs.sets[1].scenario.clients[0].rate, 100);
  EXPECT_GT(runs.sets[1].records[0].clients[0].requests,
            runs.sets[0].records[0].clients[0].requests);
}

TEST(Runs, TheResultDoesNotDependOnTheThreads) {  // Invariant (1)
  const Runs one = play_all({small(50), small(100)}, {.runs = 4, .threads = 1});
  const Runs many = play_all({small(50), small(100)}, {.runs = 4, .threads = 4});
  for (std::size_t set = 0; set < 2; ++set) {
    for (std::size_t run = 0; run < 4; ++run) {
      EXPECT_EQ(one.sets[set].records[run].trace_hash, many.sets[set].records[run].trace_hash);
    }
  }
}

TEST(Runs, RandomWorldsHaveTheSameTracesOnTwoThreads) {  // Invariant (1)
  std::vector<Scenario> worlds;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) worlds.push_back(RandomScenario(seed).make());
  const Runs one = play_all(worlds, {.runs = 1, .seed = 5, .threads = 1});
  const Runs two = play_all(worlds, {.runs = 1, .seed = 5, .threads = 2});
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    EXPECT_EQ(one.sets[i].records[0].trace_hash, two.sets[i].records[0].trace_hash) << i + 1;
  }
}

TEST(Runs, OnlyTheFirstRunKeepsLatenciesOverTime) {
  const Runs runs = play_all({small(50)}, {.runs = 2});
  EXPECT_FALSE(runs.sets[0].records[0].clients[0].latency_ticks.empty());
  EXPECT_TRUE(runs.sets[0].records[1].clients[0].latency_ticks.empty());
}

TEST(Runs, AnInterruptionLeavesSeedsThatAllScenariosHave) {  // Invariant (2)
  std::atomic<bool> stop{false};
  RunsOptions options{.runs = 3000, .threads = 1, .stop = &stop};
  options.on_progress = [&](std::size_t done, std::size_t) { stop = stop || done >= 1; };
  const Runs runs = play_all({small(2000), small(2000)}, options);
  EXPECT_TRUE(runs.interrupted);
  EXPECT_LT(runs.sets[0].records.size(), 3000U);
  EXPECT_EQ(runs.sets[0].records.size(), runs.sets[1].records.size());
  for (const Record& record : runs.sets[1].records) EXPECT_FALSE(record.cut_short);
}

TEST(Runs, StoppedBeforeTheFirstRunThereIsNothing) {
  const std::atomic<bool> stop{true};
  const Runs runs = play_all({small(50)}, {.runs = 2, .stop = &stop});
  EXPECT_TRUE(runs.interrupted);
  EXPECT_TRUE(runs.sets[0].records.empty());
}

TEST(Runs, MoreSeriesThanMemoryIsRefusedInOneSentence) {
  Scenario wide = small(50);
  wide.length = 24h;
  EXPECT_EQ(find_error({wide}, {.runs = 10}), std::nullopt);
  const auto error = find_error({wide}, {.runs = 10'000});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(*error,
            "10000 runs would keep more than 4 GiB of series; reduce --runs, or make the "
            "scenario's bucket longer");
  EXPECT_EQ(find_error({wide}, {.runs = 0}), "runs is 0; it must be from 1 to 100000");
}

}  // namespace
}  // namespace damper::lab
