#include "damper/demo/demo_record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace damper::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// `good` calls of 10 ms that end in a bucket, of `offered`, and `attempts` for them.
void add_bucket(LaneRecord& lane, int offered, int good, int attempts) {
  const Duration at = kDemoBucket * static_cast<std::int64_t>(lane.started.size());
  for (int i = 0; i < offered; ++i) {
    lane.calls.push_back(
        {.started = at + milliseconds(1), .ended = at + milliseconds(11), .answered = i < good});
  }
  lane.started.push_back(static_cast<std::uint32_t>(offered));
  lane.attempts.push_back(static_cast<std::uint32_t>(attempts));
}

TEST(DemoRecord, AnAnswerAfterAUsersPatienceIsNoGoodOne) {
  const LoadCall soon{.started = seconds(1), .ended = seconds(2), .answered = true};
  const LoadCall late{.started = seconds(1), .ended = milliseconds(2001), .answered = true};
  const LoadCall refused{.started = seconds(1), .ended = seconds(1), .answered = false};
  EXPECT_TRUE(soon.good());
  EXPECT_FALSE(late.good());
  EXPECT_FALSE(refused.good());
}

TEST(DemoRecord, FindingsAreOfTheSpanAlone) {
  LaneRecord lane;
  add_bucket(lane, 10, 10, 10);
  add_bucket(lane, 10, 4, 30);
  add_bucket(lane, 10, 2, 10);
  const LaneFindings found = findings(lane, milliseconds(100), milliseconds(300));
  EXPECT_EQ(found.offered, 20U);
  EXPECT_EQ(found.good, 6U);
  EXPECT_DOUBLE_EQ(found.good_ratio, 0.3);
  EXPECT_DOUBLE_EQ(found.attempts_per_request, 2);
  EXPECT_EQ(found.p99, milliseconds(10));
  EXPECT_EQ(findings(lane, seconds(1), seconds(2)).offered, 0U);
}

TEST(DemoRecord, TheP99IsTheSmallestThatNinetyNineOfAHundredDoNotExceed) {
  LaneRecord lane;
  lane.started = {100};
  for (int i = 1; i <= 100; ++i)
    lane.calls.push_back({.started = {}, .ended = Duration{i}, .answered = true});
  EXPECT_EQ(findings(lane, {}, seconds(1)).p99, Duration{99});
  lane.calls.push_back({.started = {}, .ended = Duration{1000}, .answered = true});
  EXPECT_EQ(findings(lane, {}, seconds(1)).p99, Duration{100});
}

TEST(DemoRecord, RecoveryIsTheFirstHalfSecondThatIsWell) {
  LaneRecord lane;
  for (int i = 0; i < 5; ++i) add_bucket(lane, 20, 0, 20);  // The trouble.
  for (int i = 0; i < 3; ++i) add_bucket(lane, 20, 0, 20);  // Not back yet.
  for (int i = 0; i < 5; ++i) add_bucket(lane, 20, 19, 20);
  const ActTimes times{.trouble = {}, .over = milliseconds(500), .end = milliseconds(1300)};
  EXPECT_EQ(find_recovery(lane, times), Duration(milliseconds(300)));
  lane.calls.pop_back();  // A bad one: nothing changes.
  EXPECT_EQ(find_recovery(lane, times), Duration(milliseconds(300)));
  lane.calls.pop_back();  // A good one: 94 of 100.
  EXPECT_EQ(find_recovery(lane, times), std::nullopt);
}

TEST(DemoRecord, TheSeriesHaveAValueForEachBucket) {
  LaneRecord lane;
  for (int i = 0; i < 12; ++i) add_bucket(lane, i < 2 ? 10 : 0, 5, 30);
  EXPECT_EQ(good_series(lane)[1], 5);
  EXPECT_EQ(good_series(lane)[2], 0);
  EXPECT_EQ(p99_series(lane)[0], 10);
  EXPECT_TRUE(std::isnan(p99_series(lane)[2]));
  EXPECT_EQ(attempts_series(lane)[0], 3);
  EXPECT_EQ(attempts_series(lane)[9], 15);   // 300 by 20
  EXPECT_EQ(attempts_series(lane)[10], 30);  // 300 by 10: the first bucket is out
  EXPECT_EQ(attempts_series(lane)[11], 0);   // by none
}

TEST(DemoRecord, APromiseIsKeptOnlyIfItIs) {
  ActRecord act;
  act.times = {.trouble = {}, .over = milliseconds(100), .end = milliseconds(600)};
  for (int i = 0; i < 6; ++i) {
    add_bucket(act.guarded, 20, i == 0 ? 0 : 20, 23);
    add_bucket(act.unguarded, 20, 0, 80);
  }
  for (const Promise& promise : promises(act)) EXPECT_TRUE(promise.held) << promise.sentence;
  EXPECT_EQ(promises(act).size(), 2U);  // Too short to speak of recovery.
  act.guarded.attempts[0] = 24;         // 139 by 120
  EXPECT_FALSE(promises(act)[0].held);

  act.act = Act::kill_switch;
  EXPECT_FALSE(promises(act)[0].held);  // Nobody waited.
  act.guarded.waiting = 7;
  EXPECT_FALSE(promises(act)[0].held);  // They never ended.
  act.guarded.waiting_ended = milliseconds(50);
  EXPECT_TRUE(promises(act)[0].held);
}

}  // namespace
}  // namespace damper::demo
