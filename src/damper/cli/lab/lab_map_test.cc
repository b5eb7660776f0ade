#include <gtest/gtest.h>

#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/program_testing.h"

// Under tsan: the runs are on several threads.

namespace damper::cli {
namespace {

constexpr const char* kFragile = R"(scenario: fragile
about: One retry for each request, at a database that has no room for it.
length: 30s
services: { db: { workers: 1, service_time: 10ms, queue: { discipline: fifo, bound: 100000 } } }
clients: { app: { calls: db, rate: 40 } }
faults: [{ on: db, kind: held, at: 5s, for: 2s }]
policy:
  route:
    timeout: 1s
    retry_policy:
      num_retries: 1
      per_try_timeout: 100ms
      retry_back_off: { jitter: none, base_interval: 1ns, max_interval: 1ns }
    retry_budget: { min_retries_per_second: 10000 }
map: { load: [20, 80], trigger: [0, 2] }
)";

TEST(LabMap, SaysWhereItStaysDown) {
  const Result map = damper({"lab", "map", "-", "--runs", "3", "--csv", "-"}, kFragile);
  EXPECT_EQ(map.status, kOk) << map.err;
  EXPECT_EQ(std::count(map.out.begin(), map.out.end(), '\n'), 5) << map.out;
  const Result text = damper({"lab", "map", "-", "--runs", "3"}, kFragile);
  EXPECT_NE(text.out.find("metastable"), std::string::npos) << text.out;
}

TEST(LabMap, LoadsAndTriggersCanBeGiven) {
  const Result map = damper(
      {"lab", "map", "-", "--runs", "1", "--load", "10,20,30", "--trigger", "1", "--csv", "-"},
      kFragile);
  EXPECT_EQ(map.status, kOk) << map.err;
  EXPECT_EQ(std::count(map.out.begin(), map.out.end(), '\n'), 4) << map.out;
}

TEST(LabMap, WhatHasNoTriggerHasNoMap) {
  std::string text = kFragile;
  const std::size_t fault = text.find("faults");
  text.erase(fault, text.find('\n', fault) - fault);
  const Result map = damper({"lab", "map", "-"}, text);
  EXPECT_EQ(map.status, kTrouble);
  EXPECT_EQ(map.err, "standard input: a map needs a trigger: the scenario has no faults\n");
}

}  // namespace
}  // namespace damper::cli
