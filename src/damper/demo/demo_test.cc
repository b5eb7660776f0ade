#include "damper/demo/demo.h"

#include <gtest/gtest.h>

namespace damper::demo {
namespace {

using std::chrono::seconds;

// Real time and real sockets: what is claimed here are counts, that no slow machine changes.
TEST(Demo, ItRunsToTheEndAndTheGuardedSideCostsLess) {
  const std::atomic<bool> stop = false;
  std::size_t told = 0;
  const auto record = run_demo(
      {.act = seconds(2)}, [&](const ActRecord&) { ++told; }, stop);
  ASSERT_TRUE(record) << record.error();
  ASSERT_EQ(record->acts.size(), 4U);
  EXPECT_EQ(told, 80U);  // 20 times 100 ms, four times
  for (const ActRecord& act : record->acts) {
    EXPECT_TRUE(act.whole);
    for (const LaneRecord* lane : {&act.guarded, &act.unguarded}) {
      const LaneFindings calm = findings(*lane, {}, act.times.trouble);
      if (DAMPER_INSTRUMENTED == 0) {  // Under a sanitizer nothing may be in time.
        EXPECT_GT(calm.good, 0U);
      }
      EXPECT_GT(findings(*lane, {}, act.times.end).offered, 100U);
    }
  }
  const ActRecord& outage = record->acts[0];
  const auto attempts = [&](const LaneRecord& lane) {
    return findings(lane, outage.times.trouble, outage.times.end).attempts_per_request;
  };
  EXPECT_LT(attempts(outage.guarded), attempts(outage.unguarded));
  EXPECT_LE(attempts(outage.guarded), 1.15);

  const ActRecord& killed = record->acts[3];
  EXPECT_GT(killed.guarded.waiting, 0U);
  EXPECT_TRUE(killed.guarded.waiting_ended);  // All that waited are over, long before their time.
}

TEST(Demo, WhoStopsItGetsWhatWasSeen) {
  std::atomic<bool> stop = false;
  const auto record = run_demo(
      {.act = seconds(600)}, [&](const ActRecord&) { stop = true; }, stop);
  ASSERT_TRUE(record) << record.error();
  ASSERT_EQ(record->acts.size(), 1U);
  EXPECT_FALSE(record->acts[0].whole);
  EXPECT_EQ(record->acts[0].guarded.started.size(), 1U);
}

}  // namespace
}  // namespace damper::demo
