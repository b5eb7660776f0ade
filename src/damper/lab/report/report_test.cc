#include "damper/lab/report/report.h"

#include <gtest/gtest.h>

#include <limits>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

TEST(Report, ColumnsAreCalledByWhatDiffers) {
  Report report = small_report();
  EXPECT_EQ(labels(report), (Names{"naive", "guarded"}));
  report.sets[0].scenario.name = "calm";
  EXPECT_EQ(labels(report), (Names{"calm/naive", "storm/guarded"}));
  report.sets[0].scenario = report.sets[1].scenario;  // One scenario under two policies.
  report.sets[1].records[0].policy = "ours.yaml";
  EXPECT_EQ(labels(report), (Names{"naive", "ours.yaml"}));
  report.sets[1].records[0].policy = "naive";
  EXPECT_EQ(labels(report), (Names{"naive", "naive 2"}));
  report.sets.push_back(report.sets[0]);
  report.sets[2].scenario.variant = "x";
  report.sets[1].records[0].policy = "ours.yaml";
  EXPECT_EQ(labels(report),
            (Names{"storm/guarded naive", "storm/guarded ours.yaml", "storm/x naive"}));
  report.sets.resize(1);
  EXPECT_EQ(labels(report), (Names{"storm/guarded"}));
  report.sets[0].scenario.name = report.sets[0].scenario.variant = "";
  EXPECT_EQ(labels(report), (Names{"run"}));
}

TEST(Report, AMeasureOfManyRunsHasAnInterval) {
  RunSet set{small_scenario("naive"), {small_record(1, 2)}};
  const Measure& attempts = *find_measure("attempts_per_request");
  EXPECT_EQ(summary_text(attempts, set), "1.6");
  set.records.push_back(small_record(2, 1));  // 1.3
  // The mean is 1.45; Student's t for one degree of freedom is 12.7, the error of the mean 0.15.
  EXPECT_EQ(summary_text(attempts, set), "1.45 ±1.9");
  EXPECT_EQ(summary_text(*find_measure("success"), set), "70 ±0 %");
  EXPECT_EQ(summary_text(*find_measure("arrivals_at_end"), set), "20 ±0/s");
}

// Of 300 latencies in two runs, 1 in 100 over a second, all of them in one: the mean of the runs'
// p99 would be halfway between.
TEST(Report, APercentileIsThatOfAllRunsTogether) {
  RunSet set{small_scenario("naive"), {small_record(1, 2), small_record(2, 2)}};
  LatencySketch& first = set.records[0].clients[0].latency;
  LatencySketch& second = set.records[1].clients[0].latency;
  first = second = {};
  for (int i = 0; i < 100; ++i) first.add(std::chrono::milliseconds(i < 90 ? 100 : 1000));
  for (int i = 0; i < 900; ++i) second.add(std::chrono::milliseconds(100));
  const Measure& p99 = *find_measure("p99");
  EXPECT_NEAR(p99.of(set.scenario, set.records[0]), 1000, 16);
  EXPECT_EQ(p99.of(set.scenario, set.records[1]), 100);
  EXPECT_NEAR(estimate(p99, set).value, 100, 1.6);  // Not 550.
}

// What the sketch does not know is in the interval: it was "629 ±0 ms".
TEST(Report, ThePercentileOfEqualRunsIsAsExactAsTheSketch) {
  RunSet set{small_scenario("naive"), {small_record(1, 2), small_record(2, 2)}};
  for (Record& record : set.records) {
    record.clients[0].latency = {};
    for (int i = 0; i < 1000; ++i) {
      record.clients[0].latency.add(std::chrono::milliseconds(500 + i));
    }
  }
  const Measure& p50 = *find_measure("p50");
  EXPECT_TRUE(estimate(p50, set).interval.contains(999));
  EXPECT_GT(estimate(p50, set).interval.width(), 10);
  EXPECT_LT(estimate(p50, set).interval.width(), 80);  // 44 ms for 2000 ranks, and two buckets
  set.records.pop_back();
  EXPECT_NEAR(estimate(p50, set).interval.width(), 16, 1);  // One bucket.
}

TEST(Report, ARunThatCannotSayItIsLeftOut) {
  RunSet set{small_scenario("naive"), {small_record(1, 2), small_record(2, 2)}};
  set.records[1].clients[0].latency = {};
  EXPECT_EQ(summarize(*find_measure("p99"), set).n(), 1);
  set.records[0].clients[0].latency = {};
  EXPECT_EQ(summary_text(*find_measure("p99"), set), "-");
}

TEST(Report, CollapseIsAProbability) {
  RunSet set{small_scenario("naive"), {small_record(1, 2)}};
  const Measure& collapsed = *find_measure("collapsed");
  EXPECT_EQ(summary_text(collapsed, set), "no");
  for (ClientsTick& tick : set.records[0].clients[0].ticks) tick.succeeded = 0;
  EXPECT_EQ(summary_text(collapsed, set), "yes");
  set.records.push_back(small_record(2, 2));
  EXPECT_EQ(collapsed_runs(set).k, 1);
  EXPECT_EQ(collapsed_runs(set).n, 2);
  EXPECT_EQ(summary_text(collapsed, set), "0.500 (0.09 to 0.91)");
}

TEST(Report, VerdictsOfAllRunsAreSummed) {
  RunSet set{small_scenario("naive"), {small_record(1, 2), small_record(2, 2)}};
  set.records.push_back({});
  const auto verdicts = verdicts_of(set);
  EXPECT_EQ(verdicts[static_cast<std::size_t>(Verdict::success)], 280U);
  EXPECT_EQ(verdicts[static_cast<std::size_t>(Verdict::budget_spent)], 120U);
}

TEST(Report, MeasuresThatSayNothingAreNotShown) {
  Report report = small_report();
  const auto shows = [&](std::string_view name) {
    const auto shown = shown_measures(report);
    return std::ranges::find(shown, find_measure(name)) != shown.end();
  };
  EXPECT_TRUE(shows("success"));
  EXPECT_TRUE(shows("tallest_retries"));  // Only one of the sets has some.
  EXPECT_TRUE(shows("back_after"));
  EXPECT_TRUE(shows("collapsed"));
  EXPECT_FALSE(shows("hedges"));
  EXPECT_FALSE(shows("attempts_at_bottom"));
  report.sets[1].scenario.expect.push_back({.measure = "hedges", .at_most = 2.0});
  EXPECT_TRUE(shows("hedges"));
  report.sets[1].scenario.services[0].calls = {{.service = "api"}};
  EXPECT_TRUE(shows("attempts_at_bottom"));
  for (RunSet& set : report.sets) set.scenario.faults.clear();
  EXPECT_FALSE(shows("back_after"));
  EXPECT_FALSE(shows("collapsed"));
}

TEST(Report, ExpectationsAreHeldOrBroken) {
  Report report = small_report();
  report.sets[0].scenario.expect = {
      {.measure = "attempts_per_request_in_fault", .at_least = 2.0},
      {.measure = "success", .at_least = 70.0, .at_most = 70.0},
      {.measure = "p99", .at_most = 5.0},
      {.measure = "back_after", .at_least = 0.5},
  };
  const auto promises = check_expectations(report);
  ASSERT_EQ(promises.size(), 4U);
  EXPECT_EQ(promises[0].sentence, "naive: attempts_per_request_in_fault is 3, at least 2");
  EXPECT_TRUE(promises[0].held);
  EXPECT_EQ(promises[1].sentence, "naive: success is 70 %, at least 70 % and at most 70 %");
  EXPECT_TRUE(promises[1].held);
  EXPECT_FALSE(promises[2].held);
  EXPECT_EQ(promises[3].sentence, "naive: back_after is 0 s, at least 0.5 s");
  EXPECT_FALSE(promises[3].held);
  EXPECT_TRUE(promises[3].checked);
}

TEST(Report, AnExpectationCanBeOfAnotherVariant) {
  Report report = small_report();
  report.sets[1].scenario.expect = {
      {.measure = "attempts_per_request", .of = "naive", .at_most = 0.62},
      {.measure = "attempts_per_request", .of = "mild", .at_most = 0.1},
      {.measure = "tallest_retries", .of = "naive", .at_least = 0.1},
  };
  auto promises = check_expectations(report);
  ASSERT_EQ(promises.size(), 3U);
  EXPECT_EQ(promises[0].sentence,
            "guarded: attempts_per_request is 0.625 of naive's, at most 0.62");
  EXPECT_FALSE(promises[0].held);
  EXPECT_EQ(promises[1].sentence,
            "guarded: attempts_per_request of mild's: not checked, mild was not run");
  EXPECT_TRUE(promises[1].held);
  EXPECT_FALSE(promises[1].checked);
  EXPECT_FALSE(promises[2].held);          // 0 of naive's 4
  report.sets[0].scenario.name = "other";  // Its variant is not meant.
  EXPECT_FALSE(check_expectations(report)[0].checked);
}

TEST(Report, WhatIsNotANumberKeepsNoBound) {
  Report report = small_report();
  report.sets[0].records[0].clients[0].latency = {};
  report.sets[0].scenario.expect = {
      {.measure = "p99", .at_most = 5.0},
      {.measure = "hedges", .of = "guarded", .at_most = 5.0},
      {.measure = "tallest_retries", .of = "guarded", .at_least = 5.0},
      {.measure = "speed\n", .at_most = 5.0},
  };
  const auto promises = check_expectations(report);
  EXPECT_EQ(promises[0].sentence, "naive: p99 is - ms, at most 5 ms");
  EXPECT_FALSE(promises[0].held);
  EXPECT_FALSE(promises[1].held);  // 0 of 0
  EXPECT_EQ(promises[2].sentence, "naive: tallest_retries is inf of guarded's, at least 5");
  EXPECT_TRUE(promises[2].held);
  EXPECT_EQ(promises[3].sentence, "naive: speed\\n is no measure");
  EXPECT_FALSE(promises[3].held);
}

TEST(Report, ABrokenBoundLooksBroken) {
  Report report = small_report();
  report.sets[0].records[0].clients[0].attempts = 250;
  report.sets[0].records[0].clients[0].requests = 2001;
  report.sets[0].scenario.expect = {{.measure = "attempts_per_request", .at_least = 0.125}};
  EXPECT_EQ(check_expectations(report)[0].sentence,
            "naive: attempts_per_request is 0.1249, at least 0.125");
}

TEST(Report, ExpectationsAreOfTheMean) {
  Report report = small_report();
  report.sets[0].records.push_back(small_record(2, 0));  // 1.6 and 1
  report.sets[0].scenario.expect = {{.measure = "attempts_per_request", .at_most = 1.3}};
  EXPECT_TRUE(check_expectations(report)[0].held);
  report.sets[0].scenario.expect[0].at_most = 1.2;
  EXPECT_FALSE(check_expectations(report)[0].held);
}

TEST(Report, FaultsAreDescribed) {
  FaultSpec fault = small_scenario("").faults[0];
  EXPECT_EQ(describe(fault), "api is down: transient, at once");
  EXPECT_EQ(describe_time(fault), "2s to 5s");
  fault.replicas = {0};
  EXPECT_EQ(describe(fault), "api replica 0 is down: transient, at once");
  fault.replicas = {0, 2};
  fault.amount = 0.25;
  const auto as = [&](FaultKind kind) {
    fault.kind = kind;
    return describe(fault);
  };
  EXPECT_EQ(as(FaultKind::errors), "api replicas 0, 2 fails with 25 % of requests: transient");
  fault.replicas.clear();
  EXPECT_EQ(as(FaultKind::capacity), "api works with 25 % of its workers");
  EXPECT_EQ(as(FaultKind::held),
            "nothing gets through to api; what was sent arrives when it is over");
  EXPECT_EQ(as(FaultKind::lost), "nothing gets through to api; what was sent is lost");
  fault.amount = 10;
  EXPECT_EQ(as(FaultKind::spike), "api send 10 times as many requests");
  EXPECT_EQ(as(FaultKind::slow), "api takes 10 times as long");
  fault.requests = 1000;
  EXPECT_EQ(describe_time(fault), "from 2s, for 1,000 requests");
  fault.on = "\x1b[2J";
  EXPECT_EQ(describe(fault), "\\u001b[2J takes 10 times as long");
}

TEST(Report, ARunThatWasCutShortIsSaid) {
  Report report;
  report.sets.emplace_back().records.emplace_back().title = "storm";
  EXPECT_EQ(interruption(report), "");
  report.sets[0].records[0].cut_short = true;
  EXPECT_EQ(interruption(report),
            "Cut short: too many requests were under way at once, and the rest of a run of storm "
            "is missing.");
}

TEST(Report, AnInterruptionIsCounted) {
  Report report = small_report();
  EXPECT_EQ(interruption(report), "");
  report.interrupted = true;
  report.asked_runs = 200;
  EXPECT_EQ(interruption(report), "Interrupted: 2 of 200 runs are done.");
}

TEST(Report, AHashHasSixteenDigits) {
  EXPECT_EQ(hash_text(0), "0000000000000000");
  EXPECT_EQ(hash_text(0xFEDCBA9876543210), "fedcba9876543210");
}

}  // namespace
}  // namespace damper::lab
