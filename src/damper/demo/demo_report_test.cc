#include "damper/demo/demo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "damper/base/text/html_testing.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/demo_record_testing.h"

namespace damper::demo {
namespace {

using std::chrono::milliseconds;

TEST(DemoReport, AFrameHasBothSidesOnOneScale) {
  const std::vector<std::string> lines = demo_frame(example_act(Act::outage), {});
  const std::vector<std::string> wanted = {
      "Act 1 of 4: An outage                              2.0 s of 2s             after",
      "All three backends answer 503. Watch attempts: naive clients multiply the load",
      "by four; the proxy's budget and breakers keep it at one or less.",
      "",
      "                 with damper                     without",
      "                 ████          ██████            ████          ██████          ",
      "good a second    ████          ██████        60  ████          ██████        60",
      "                                                       ▁▂▃▃▄▆▇█▇▆▄▃▂▁          ",
      "attempts/request ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄      1.00  ▄▄▄▄▆███████████████      2.20",
      "                 ████████████████████            ████████████████████          ",
      "p99              ████████████████████     20 ms  ████████████████████     20 ms",
      "                 ────━━━━━━━━━━──────            ────━━━━━━━━━━──────",
  };
  EXPECT_EQ(lines, wanted);
}

TEST(DemoReport, EveryFrameHasTheSameNumberOfLinesAndFits) {
  for (const Act act : kActs) {
    ActRecord record = example_act(act);
    const std::size_t lines = demo_frame(record, {}).size();
    record.guarded.started.resize(1);
    record.guarded.attempts.resize(1);
    const std::vector<std::string> first = demo_frame(record, {});
    EXPECT_EQ(first.size(), lines);
    for (const std::string& line : first) EXPECT_LE(text::text_width(line), 80U) << line;
  }
}

TEST(DemoReport, ALineIsTheLastSecond) {
  ActRecord act = example_act(Act::outage);
  EXPECT_EQ(demo_line(act),
            "An outage, 2s, after: with 60 good, 1.00 attempts, 20 ms; without 60 good, 2.20 "
            "attempts, 20 ms");
  act.guarded.started.resize(10);
  EXPECT_EQ(demo_line(act).substr(0, 35), "An outage, 1s, down: with 40 good, ");
}

TEST(DemoReport, TheSwitchTellsWhoWaitedAndForHowLong) {
  ActRecord act = example_act(Act::kill_switch);
  EXPECT_EQ(switch_sentence(act), "");
  act.guarded.waiting = 1234;
  act.guarded.waiting_ended = milliseconds(7);
  act.unguarded.waiting = 56;
  EXPECT_EQ(switch_sentence(act),
            "When the switch was flipped: with damper 1,234 calls waited, the last of them for "
            "7.0 ms more; without, where there is none, 56 calls waited, not all of them to the "
            "end of the act.");
}

TEST(DemoReport, TheSummarySaysWhatHeldAndWhatWasCut) {
  DemoRecord record;
  record.acts = {example_act(Act::outage), example_act(Act::overload)};
  record.acts[1].whole = false;
  std::ostringstream out;
  print_demo_summary(out, record, {});
  EXPECT_NE(out.str().find("held    an outage cost the backends at most 1.15 attempts"),
            std::string::npos);
  EXPECT_NE(out.str().find("cut     An overload was interrupted."), std::string::npos);
  EXPECT_EQ(out.str().find("in an overload"), std::string::npos);
  const std::vector<std::string> wanted = {
      "An outage, without", "160", "38 %", "2.88", "20 ms", "0 ms"};
  EXPECT_EQ(demo_rows(record)[2], wanted);
  EXPECT_EQ(demo_rows(record)[3].back(), "-");  // Nobody knows: it was cut.
}

TEST(DemoReport, TimesAreForPeople) {
  EXPECT_EQ(spent_text(Duration{0}), "0 ms");
  EXPECT_EQ(spent_text(std::chrono::microseconds(1500)), "1.5 ms");
  EXPECT_EQ(spent_text(milliseconds(31)), "31 ms");
  EXPECT_EQ(spent_text(milliseconds(2340)), "2.3 s");
}

TEST(DemoHtml, ThePageHasEachActItsNumbersAndThePolicy) {
  DemoRecord record;
  for (const Act act : kActs) record.acts.push_back(example_act(act));
  record.acts[0].whole = false;
  record.policy = "routes: { \"<b>\": {} }\n";
  std::ostringstream out;
  print_demo_html(out, record, "damper demo --quick", "0.1.0");
  const std::string page = out.str();
  for (const Act act : kActs) {
    EXPECT_NE(page.find("<h2>" + std::string(plot(act).title) + "</h2>"), std::string::npos);
  }
  EXPECT_NE(page.find("An outage was interrupted."), std::string::npos);
  EXPECT_NE(page.find("routes: { &quot;&lt;b&gt;&quot;: {} }"), std::string::npos);
  EXPECT_NE(page.find("damper demo --quick"), std::string::npos);
  EXPECT_NE(page.find("Measured on this machine"), std::string::npos);
  EXPECT_EQ(text::find_html_error(page), "");
}

TEST(DemoHtml, ADemoThatSawNothingIsAPageToo) {
  DemoRecord record;
  record.acts.emplace_back();
  record.acts[0].times = times_of(Act::outage, std::chrono::seconds(2));
  std::ostringstream out;
  print_demo_html(out, record, "damper demo", "0.1.0");
  EXPECT_NE(out.str().find("</html>"), std::string::npos);
}

}  // namespace

}  // namespace damper::demo
