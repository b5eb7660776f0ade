#include "damper/demo/storm.h"

#include <gtest/gtest.h>

#include <sstream>

namespace damper::demo {
namespace {

using namespace std::chrono_literals;

TEST(StormReport, TheProgressFitsALine) {
  StormRecord record;
  for (LaneRecord* lane : {&record.naive, &record.guarded}) {
    lane->attempts.resize(623);
    lane->retries.resize(623);
  }
  record.naive.attempts[0] = 308'000;
  record.naive.retries[0] = 28'000;
  record.guarded.attempts[622] = 1239;
  record.guarded.retries[622] = 5;
  EXPECT_EQ(progress_line({.down = 61s}, record),
            " 62.3s down naive 280,000 + 28,000 retries  guarded   1,234 +      5 retries");
}

TEST(StormReport, ThePlotSaysWhatWillHappen) {
  std::ostringstream out;
  print_plot(out, {});
  EXPECT_EQ(out.str(),
            "500 clients start at the same instant; each calls the same dependency every 500ms.\n"
            "It serves 1,500 calls a second. From 2s to 12s it is down: 503, at once.\n"
            "\n"
            "Two such fleets run side by side, for real, for 15s:\n"
            "  naive    tries a failure again after 1s, 2s, 4s, without jitter\n"
            "  guarded  GuardedClient, default policy: 3 attempts, full jitter, a 10 % budget\n"
            "\n");
}

// Two clients; down from 1 s to 2 s, over at 3 s.
const StormOptions kOptions{.clients = 2, .every = 1s, .calm = 1s, .down = 1s, .after = 1s};

StormRecord small_record() {
  StormRecord record;
  for (LaneRecord* lane : {&record.naive, &record.guarded}) {
    lane->attempts.resize(30);
    lane->retries.resize(30);
    lane->attempts[0] = lane->attempts[10] = lane->attempts[20] = 2;
  }
  record.naive.retries[20] = 2;
  for (int client = 0; client < 2; ++client) {
    record.naive.calls.push_back({.started = 0ms, .ended = 1ms, .answered = true});
    record.naive.calls.push_back({.started = 1s, .ended = 2001ms, .attempts = 2, .answered = true});
    for (const Duration at : {0ms, 1000ms, 2000ms}) {
      record.guarded.calls.push_back({.started = at, .ended = at + 1ms, .answered = at != 1000ms});
    }
  }
  record.tally.verdicts[static_cast<std::size_t>(Verdict::success)] = 4;
  record.tally.verdicts[static_cast<std::size_t>(Verdict::budget_spent)] = 2;
  return record;
}

constexpr const char* kReport = R"(Arrivals in 100 ms.

naive, first tries
   2│█         █
    │█         █
naive, retries
   2│                    █
    │                    █
    │                    █
    │                    █
   0└──────────━━━━━━━━━━──────────
     0s        1s: down  2s: back

guarded, first tries
   2│█         █         █
    │█         █         █
guarded, retries
   2│
    │
    │
    │
   0└──────────━━━━━━━━━━──────────
     0s        1s: down  2s: back

                                                           naive     guarded
  calls offered: every client, every tick                      6           6
  calls made: who sits in a backoff makes none                 4           6
  calls that succeeded                                         4           4
  retries made                                                 2           0
  attempts for each call while it was down                  2.00        1.00
  tallest 100 ms of retries                                    2           0
  after the return, back to 99 % of the offered in            0s          0s

How the guarded calls ended: success 4, budget_spent 2.

In words: the dependency was down for 1s. A naive call cost it 2.00 attempts,
and all clients came back at the same instants, up to 2 retries in 100 ms.
A guarded call cost it 1.00, never more than 0 retries in 100 ms: jitter spread
them, and the budget ended 2 calls instead of trying them again.
Their clients got the refusal at once and kept their schedule; the naive ones waited.

BROKEN  naive: more than 3 attempts for each call while it is down: a storm
held    guarded: at most 1.12 attempts for each call while it is down
held    guarded: the tallest 100 ms of retries at least 5 times lower
held    guarded: 99 % of what is offered succeeds within 2 s of the return
)";

TEST(StormReport, DrawsTheStormAndSaysWhatHeld) {
  std::ostringstream out;
  print_storm(out, kOptions, small_record(), {});
  EXPECT_EQ(out.str(), kReport);
}

TEST(StormReport, ColourChangesNothingButTheColour) {
  std::ostringstream out;
  print_storm(out, kOptions, small_record(), {.colour = true});
  EXPECT_NE(out.str().find("\x1b[31m"), std::string::npos);
  std::string plain;
  for (std::size_t i = 0; i < out.str().size(); ++i) {
    if (out.str()[i] == '\x1b') {
      i = out.str().find('m', i);
    } else {
      plain += out.str()[i];
    }
  }
  EXPECT_EQ(plain, kReport);
}

TEST(StormReport, AFleetThatNeverCameBackSaysSo) {
  StormRecord record = small_record();
  record.naive.calls.clear();
  std::ostringstream out;
  print_storm(out, kOptions, record, {});
  EXPECT_NE(out.str().find("of the offered in         never          0s\n"), std::string::npos);
}

TEST(StormReport, AWideStormIsGroupedToFitTheScreen) {
  StormOptions options = kOptions;
  options.down = 14s;  // 160 buckets
  StormRecord record = small_record();
  for (LaneRecord* lane : {&record.naive, &record.guarded}) {
    lane->attempts.resize(160);
    lane->retries.resize(160);
  }
  std::ostringstream out;
  print_storm(out, options, record, {});
  EXPECT_TRUE(out.str().starts_with("Arrivals in 100 ms; a column is 300ms and shows the most.\n"));
  EXPECT_NE(out.str().find("\n     0s 1s: down"), std::string::npos);
}

TEST(StormReport, JsonSaysTheSame) {
  std::ostringstream out;
  StormRecord record = small_record();
  record.guarded.calls.pop_back();  // One success fewer: never back.
  print_storm_json(out, kOptions, record);
  EXPECT_EQ(
      out.str(),
      R"({"clients":2,"down_from_ms":1000,"down_until_ms":2000,)"
      R"("naive":{"offered":6,"calls":4,"succeeded":4,"attempts":6,)"
      R"("attempts_per_call_while_down":2,"tallest_retries_in_100ms":2,"back_after_ms":0,)"
      R"("first_tries_by_100ms":[2,0,0,0,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],)"
      R"("retries_by_100ms":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0]},)"
      R"("guarded":{"offered":6,"calls":5,"succeeded":3,"attempts":6,)"
      R"("attempts_per_call_while_down":1,"tallest_retries_in_100ms":0,"back_after_ms":null,)"
      R"("first_tries_by_100ms":[2,0,0,0,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0],)"
      R"("retries_by_100ms":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]},)"
      R"("verdicts":{"success":4,"budget_spent":2},"promises":[)"
      R"({"promise":"naive: more than 3 attempts for each call while it is down: a storm",)"
      R"("held":false},)"
      R"({"promise":"guarded: at most 1.12 attempts for each call while it is down",)"
      R"("held":true},)"
      R"({"promise":"guarded: the tallest 100 ms of retries at least 5 times lower",)"
      R"("held":true},)"
      R"({"promise":"guarded: 99 % of what is offered succeeds within 2 s of the return",)"
      R"("held":false}]})"
      "\n");
}

}  // namespace
}  // namespace damper::demo
