#include <gtest/gtest.h>

#include "damper/admit/limit_control_testing.h"

namespace damper::admit {
namespace {

// What a limit learns from a comparison: have drops and latency followed it? Exact, at the bounds.

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Whether the window lowers the limit.
bool cuts(LimitControl& control, std::int32_t answers, std::int32_t drops) {
  const std::int32_t before = control.limit();
  on_samples(control, answers, drops);
  return control.limit() < before;
}

LimitControl aimd(Percent backoff = Percent(70), Percent tolerated = Percent(10)) {
  return LimitControl(
      {.kind = LimitKind::aimd, .initial = 1000, .tolerated_drops = tolerated, .backoff = backoff});
}

// A share of drops that followed no cut: it is the floor, or close to it.
LimitControl with_drops(std::int32_t percent) {
  LimitControl control = aimd();
  for (int i = 0; i < 20; ++i) on_samples(control, 100 - percent, percent);
  return control;
}

TEST(LimitComparison, EachFallReturnsToHalfOfWhatItWasBeforeIt) {
  LimitControl control({.kind = LimitKind::aimd, .initial = 100});
  on_samples(control, 50, 50);  // To 70.
  on_samples(control, 100, 0);  // Back over 50, so that fall is over.
  EXPECT_EQ(control.limit(), 71);
  for (int i = 0; i < 3; ++i) on_samples(control, 0, 100);  // 71 * 0.7^3 = 24.4
  EXPECT_EQ(control.limit(), 24);
  on_samples(control, 100, 0);
  EXPECT_EQ(control.limit(), 35);  // 71 / 2
}

TEST(LimitComparison, ACutOfAFifthIsLargeEnoughToCompareDrops) {
  LimitControl fifth = aimd(Percent(80));
  on_samples(fifth, 50, 50);          // To 800.
  EXPECT_FALSE(cuts(fifth, 50, 50));  // The share of drops did not follow: it is the floor.
  LimitControl tenth = aimd(Percent(90));
  on_samples(tenth, 50, 50);  // To 900, too close to 1000 to tell.
  EXPECT_TRUE(cuts(tenth, 50, 50));
}

TEST(LimitComparison, OnceNearlyAllWereDropsTheFirstGoodWindowEndsIt) {
  LimitControl control = aimd();
  on_samples(control, 10, 90);                            // Nine tenths.
  for (int i = 0; i < 9; ++i) on_samples(control, 0, 5);  // Ten cuts: 1000 * 0.7^10 = 28.2
  on_samples(control, 4, 0);                              // 49 samples.
  EXPECT_EQ(control.limit(), 56);                         // It grows already, and has no floor,
  EXPECT_TRUE(cuts(control, 70, 30));                     // although 92 % of them were drops.
}

TEST(LimitComparison, WhileNearlyAllAreDropsTheyAreComparedAsOthers) {
  LimitControl control = aimd();
  for (int i = 0; i < 2; ++i)
    on_samples(control, 0, 100);    // To 490. Not followed: a floor of 50 %.
  on_samples(control, 70, 30);      // 30 %, halved: 15 + 10 tolerated + 10.7 of noise.
  EXPECT_EQ(control.limit(), 500);  // Half of 1000.
  on_samples(control, 70, 30);      // What was learnt stays as it is.
  EXPECT_EQ(control.limit(), 501);
}

TEST(LimitComparison, AFloorEndsWithAnOutageThatIsOver) {
  LimitControl control = with_drops(25);
  control.reload({.kind = LimitKind::aimd, .initial = 1000, .backoff = Percent(90)});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(cuts(control, 0, 100));
  on_samples(control, 10, 0);
  EXPECT_TRUE(cuts(control, 70, 30));
}

TEST(LimitComparison, AFloorFallsWithTheDropsOfFiftySamplesAtLeast) {
  LimitControl fewer = with_drops(25);
  EXPECT_TRUE(cuts(fewer, 0, 100));
  on_samples(fewer, 40, 4);           // 44 samples: too few for a floor of 9 %.
  EXPECT_FALSE(cuts(fewer, 75, 25));  // Half of 20 %: 10 + 10 tolerated + 9 of noise.
  LimitControl fifty = with_drops(25);
  EXPECT_TRUE(cuts(fifty, 0, 100));
  on_samples(fifty, 45, 5);
  EXPECT_TRUE(cuts(fifty, 77, 23));  // Half of 10 %: 5 + 10 tolerated + 6.5 of noise.
}

TEST(LimitComparison, AWindowWithTheToleratedDropsIsNoCutWhateverWasBeforeIt) {
  LimitControl control = with_drops(50);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(cuts(control, 20, 80));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(cuts(control, 3, 6));
  EXPECT_FALSE(cuts(control, 2, 2));
  // 27 of 50 are drops, which is over the floor of 25 % that the comparison ends with.
  EXPECT_FALSE(cuts(control, 9, 1));
}

TEST(LimitComparison, HalfAsMuchIsEnoughToFollow) {  // A quarter of the limit.
  LimitControl drops = aimd(Percent(25));
  on_samples(drops, 50, 50);
  EXPECT_TRUE(cuts(drops, 75, 25));  // Half of the drops: no floor.
  LimitControl answers = aimd(Percent(25));
  on_samples(answers, 25, 75);
  EXPECT_TRUE(cuts(answers, 50, 50));  // Twice the answers: no floor.
}

TEST(LimitComparison, DropsOfExactlyTheFloorAndItsNoiseAreNoCut) {
  for (const std::int32_t drops : {65, 66}) {  // 50 + 3 * 5
    LimitControl control = aimd(Percent(70), Percent(0));
    for (int i = 0; i < 20; ++i) on_samples(control, 50, 50);
    EXPECT_EQ(cuts(control, 100 - drops, drops), drops == 66);
  }
}

// With a floor of 10 ms. Bounds move the limit by hand.
class LatencyComparison : public testing::Test {
 protected:
  explicit LatencyComparison(std::int32_t initial = 100) : control_(options(initial, initial)) {
    control_.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  }
  static ConcurrencyLimitOptions options(std::int32_t min, std::int32_t max) {
    return {.kind = LimitKind::gradient, .initial = min, .min = min, .max = max};
  }
  // A window in use at this limit.
  void at(std::int32_t limit, Duration latency) {
    control_.reload(options(limit, limit));
    control_.on_window(busy(control_, latency));
  }
  // The limit after a window in use, from where it is. A floor f tolerates 1.2 * f.
  std::int32_t after(Duration latency) {
    control_.reload(options(1, 1000));
    control_.on_window(busy(control_, latency));
    return control_.limit();
  }

  LimitControl control_;
};

TEST_F(LatencyComparison, TheLatencyIsFreshWithinATenthOfTheLimitNotAtIt) {
  at(100, milliseconds(12));
  at(90, milliseconds(20));
  at(75, milliseconds(16));  // 16/12 has not followed: a floor of 13 ms. 16/20 would have.
  EXPECT_EQ(after(microseconds(15'600)), 100);  // No queue: lowered in vain, it returns.
}

TEST_F(LatencyComparison, TheSameForALimitThatGrows) {
  at(100, milliseconds(12));
  at(110, milliseconds(20));
  at(130, milliseconds(16));                // 16/12 has followed 1.3: the floor is 10 ms still.
  EXPECT_EQ(after(milliseconds(16)), 125);  // To 130 * 12/16 + 11.4
}

TEST_F(LatencyComparison, ComparesFromAFifthLessOn) {
  at(100, milliseconds(12));
  at(80, milliseconds(16));                     // Not followed: a floor of 13 ms.
  EXPECT_EQ(after(microseconds(15'600)), 100);  // No queue.
}

TEST_F(LatencyComparison, ComparesFromAQuarterMoreOn) {
  at(100, milliseconds(12));
  at(125, milliseconds(12));                    // Not followed: a floor of 11 ms.
  EXPECT_EQ(after(microseconds(13'200)), 127);  // No queue: 125 + 11.2 / 5
}

TEST_F(LatencyComparison, HalfAsMuchIsEnoughToFollow) {
  at(400, milliseconds(24));
  at(100, milliseconds(12));                    // Half of the latency at a quarter of the limit.
  EXPECT_EQ(after(microseconds(13'200)), 100);  // To 100 * 12/13.2 + 10: the floor is 10 ms.
  at(100, milliseconds(12));
  at(400, milliseconds(24));
  EXPECT_EQ(after(milliseconds(20)), 372);  // To 400 * 12/20 + 20
}

TEST_F(LatencyComparison, LatencyAtTheFloorHasNoOtherCause) {
  for (const Duration latency : {Duration(milliseconds(10)), Duration(milliseconds(9))}) {
    at(100, milliseconds(10));
    control_.reload(options(75, 75));
    EXPECT_EQ(after(latency), 76);  // Not back to 100 at once.
  }
}

TEST_F(LatencyComparison, OnlyTheSecondOfTwoCutsInVainRaisesTheFloorAllTheWay) {
  at(100, milliseconds(12));
  at(75, milliseconds(16));                     // In vain: half of the way, to 13 ms.
  at(100, milliseconds(17));                    // It grew, without effect: half, to 15 ms.
  EXPECT_EQ(after(microseconds(19'500)), 100);  // To 100 * 18/19.5 + 10
  at(100, milliseconds(20));
  at(75, milliseconds(21));  // In vain: to 18 ms.
  at(56, milliseconds(22));  // Again: to 22 ms.
  EXPECT_GT(after(microseconds(26'400)), 56);
}

TEST_F(LatencyComparison, AnIdleWindowBeginsAgain) {
  control_.reload(options(1, 1000));
  const auto grow_to = [&](std::int32_t limit) {
    while (control_.limit() < limit) control_.on_window(busy(control_, milliseconds(12)));
  };
  grow_to(120);
  control_.on_window({.answers = 10, .latency = milliseconds(10), .peak_in_flight = 1});
  grow_to(140);  // 1.4 times the first limit, 1.2 times that after the idle window.
  EXPECT_LT(after(milliseconds(14)), 140);  // The floor is 10 ms, not 11.
}

TEST_F(LatencyComparison, ALatencyOfThreeQuartersOfTheFloorIsNotMuchLower) {
  LimitControl control(options(100, 100));
  control.reload(options(1, 1000));
  control.on_window({.answers = 10, .latency = milliseconds(29), .peak_in_flight = 1});
  LimitControl lower = control;
  control.on_window(busy(control, milliseconds(21)));  // The floor is 29 - 8/8.
  EXPECT_EQ(control.limit(), 102);
  lower.on_window(busy(lower, milliseconds(21) - microseconds(1)));
  EXPECT_EQ(lower.limit(), 100);
}

TEST_F(LatencyComparison, OneNanosecondIsALatency) {
  LimitControl control(options(100, 100));
  control.reload(options(1, 1000));
  control.on_window({.answers = 10, .latency = Duration(1), .peak_in_flight = 1});
  control.on_window(busy(control, Duration(2)));
  EXPECT_EQ(control.limit(), 94);  // To 100 * 1.2/2 + 10
}

TEST_F(LatencyComparison, ASlowStartIsOverWhereItEnds) {
  control_.reload(options(1, 1000));
  for (int i = 0; i < 3; ++i) on_samples(control_, 0, 100);
  EXPECT_EQ(control_.limit(), 34);         // 100 * 0.7^3
  EXPECT_EQ(after(milliseconds(12)), 50);  // Half of 100; 1.2 * 10 is no queue.
  while (control_.limit() > 30) {          // A queue: latency follows the limit.
    control_.on_window(busy(control_, milliseconds(1) * control_.limit()));
  }
  EXPECT_LE(after(milliseconds(10)), 32);
}

}  // namespace
}  // namespace damper::admit
