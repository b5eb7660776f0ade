#include "damper/lab/report/report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "damper/lab/record/record_testing.h"

namespace damper::lab {
namespace {

std::string text_of(const Report& report, text::ReportStyle style = {}) {
  std::ostringstream out;
  print_text(out, report, style);
  return out.str();
}

constexpr const char* kText = R"(storm
An API that is down for a while.

  2s to 5s  api is down: transient, at once

At api in 500ms. Served: █ still wanted, ░ no more.

naive, first tries
  20│
    │████████████████████████████████████████████████████████████
naive, retries
  20│               ██████████████████
    │               ██████████████████
    │               ██████████████████
naive, served
  30│                              ░░░
    │                              ░░░
    │████████████                  ██████████████████████████████
   0└────────────━━━━━━━━━━━━━━━━━━──────────────────────────────
     0s          2s: down          5s: over

guarded, first tries
  20│
    │████████████████████████████████████████████████████████████
guarded, retries
  20│
    │
    │
guarded, served
  30│
    │
    │████████████                  ██████████████████████████████
   0└────────────━━━━━━━━━━━━━━━━━━──────────────────────────────
     0s          2s: down          5s: over

                                   naive  guarded
  attempts_per_request               1.6        1
  attempts_per_request_in_fault        3        1
  success                           70 %     70 %
  goodput_at_end                   100 %    100 %
  collapsed                           no       no
  back_after                         0 s      0 s
  tallest_retries                      4        0
  tallest_attempts                     6        2
  arrivals_at_end                   20/s     20/s
  wasted                          12.5 %      0 %
  deepest_queue                       10        0
  p50                            20.2 ms  20.2 ms
  p99                             797 ms   797 ms
  p999                            797 ms   797 ms
  over_half_second                7.15 %   7.15 %
  requests                           200      200
  attempts                           320      200
  failed                            30 %     30 %
  last_end                        9.99 s   9.99 s

  how requests ended  naive  guarded
  success               140      140
  budget_spent           60       60

Again: damper lab run storm --seed 1
Charted: naive, seed 1, trace 000000000000abc1
Charted: guarded, seed 1, trace 000000000000abc1

held    naive: attempts_per_request_in_fault is 3, at least 2
BROKEN  guarded: attempts_per_request is 0.625 of naive's, at most 0.62
skipped guarded: attempts_per_request of mild's: not checked, mild was not run
)";

TEST(ReportText, DrawsTheStormAndSaysWhatHeld) { EXPECT_EQ(text_of(promising_report()), kText); }

TEST(ReportText, ColourChangesNothingButTheColour) {
  const std::string text = text_of(promising_report(), {.colour = true});
  EXPECT_TRUE(has(text, "\x1b[31mBROKEN  \x1b[0m"));
  EXPECT_TRUE(has(text, "\x1b[32mheld    \x1b[0m"));
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  EXPECT_EQ(plain, kText);
}

TEST(ReportText, ManyRunsHaveTheirNumberAndIntervals) {
  Report report = small_report();
  report.sets[0].records.push_back(small_record(2, 1));
  report.sets[1].records.push_back(small_record(2, 0));
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text, "\n  runs                                              2  ")) << text;
  EXPECT_TRUE(has(text, "\n  attempts_per_request                      1.45 ±1.9  ")) << text;
  EXPECT_TRUE(has(text, "\n  collapsed                      0.000 (0.00 to 0.66)")) << text;
}

TEST(ReportText, ALongRunIsGroupedToFitTheScreen) {
  Report report = small_report();
  for (RunSet& set : report.sets) {
    auto& ticks = set.records[0].services[0].ticks;
    const auto once = ticks;
    for (int i = 0; i < 3; ++i) ticks.insert(ticks.end(), once.begin(), once.end());
  }
  for (RunSet& set : report.sets) set.records[0].services[0].ticks.resize(77);  // One is alone.
  report.sets[1].records[0].services[0].ticks[1].first_tries = 50;
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text,
                  "At api in 500ms; a column is 1s and shows the most,\n"
                  "served the mean. Served:"))
      << text;
  EXPECT_TRUE(has(text, "guarded, first tries\n  50│█\n")) << text;  // The most, 50 and 10.
  EXPECT_TRUE(has(text, "naive, served\n  20│ ")) << text;           // The mean, 30 and 10.
  EXPECT_TRUE(has(text, "\n   0└──━━━──────────────────────────────────\n")) << text;
}

TEST(ReportText, WhoServesNothingHasNoChartOfIt) {
  Report report = small_report();
  for (RunSet& set : report.sets) {
    for (ServiceTick& tick : set.records[0].services[0].ticks) tick.served = tick.good = 0;
  }
  EXPECT_FALSE(has(text_of(report), "erved"));
}

TEST(ReportText, TheEndOfTheChainIsChartedToo) {
  Report report = small_report();
  report.sets.resize(1);
  Scenario& scenario = report.sets[0].scenario;
  ServiceSpec database;
  database.name = "database";
  scenario.services.push_back(database);
  scenario.services[0].calls = {{.service = "database"}};
  Record& record = report.sets[0].records[0];
  record.services.push_back(record.services[0]);
  record.services[1].name = "database";
  record.services[1].hedges = 1;
  const std::string text = text_of(report);
  EXPECT_TRUE(has(text, "\nAt api in 500ms.")) << text;
  EXPECT_TRUE(has(text, "\nAt database in 500ms.")) << text;
  EXPECT_TRUE(has(text, "\nstorm/naive, retries and hedges\n")) << text;
}

TEST(ReportText, TheKeysOfControllersAreChartedToo) {
  const std::string text = text_of(controlled_report());
  EXPECT_TRUE(has(text, R"(
Keys of pods whose last run failed, without the broken ones.

naive, failing
  12│                        ▄▄▄███
    │                  ▄▄▄█████████
    │            ▄▄▄███████████████▂▂▂▂▂▂
   0└────────────━━━━━━━━━━━━━━━━━━──────────────────────────────
     0s          2s: down          5s: over
)")) << text;
  EXPECT_TRUE(has(text, "guarded, failing\n")) << text;
  EXPECT_TRUE(has(text, "At api in 500ms.")) << text;
  EXPECT_TRUE(has(text, "parked_at_end")) << text;
  EXPECT_FALSE(has(text, "how requests ended")) << text;
  Report calm = controlled_report();
  for (RunSet& set : calm.sets) {
    for (ControllersTick& tick : set.records[0].controllers[0].ticks) tick.failing = 0;
  }
  EXPECT_FALSE(has(text_of(calm), "Keys of")) << text_of(calm);
}

TEST(ReportText, FaultsThatDifferStandWithTheirVariant) {
  Report report = small_report();
  report.sets[0].scenario.faults.clear();
  EXPECT_TRUE(has(text_of(report),
                  "\n  naive\n    no fault\n"
                  "\n  guarded\n    2s to 5s  api is down: transient, at once\n"));
}

TEST(ReportText, AnInterruptedReportSaysSo) {
  Report report = small_report();
  report.interrupted = true;
  report.asked_runs = 400;
  EXPECT_TRUE(has(text_of(report), "\nInterrupted: 2 of 400 runs are done.\n"));
}

TEST(ReportText, NothingInANameDrivesTheTerminal) {
  Report report = small_report();
  report.title = "\x1b[2Jtitle";
  report.about = "\x1b[2Jabout";
  report.command = "\x1b[2Jcommand";
  report.sets[0].scenario.variant = "\x1b[2Jvariant";
  report.sets[0].records[0].services[0].name = "\x1b[2J";
  report.sets[0].scenario.clients[0].calls = "\x1b[2J";
  report.sets[0].scenario.expect = {{.measure = "\x1b[2J"}, {.measure = "p99", .of = "\x1b[2J"}};
  EXPECT_FALSE(has(text_of(report), "\x1b"));
}

TEST(ReportText, AnEmptyReportIsShort) {
  EXPECT_EQ(text_of({}), "\n\n\n");
  Report report = small_report();
  for (RunSet& set : report.sets) set.records.clear();
  EXPECT_FALSE(has(text_of(report), "At api"));
}

}  // namespace
}  // namespace damper::lab
