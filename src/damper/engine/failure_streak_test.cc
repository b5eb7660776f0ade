#include "damper/engine/failure_streak.h"

#include <gtest/gtest.h>

namespace damper::engine {
namespace {

using namespace std::chrono_literals;

TEST(FailureStreak, TheFirstFailureAfterAQuietTimeIsAnEventTheNextIsNot) {
  FailureStreak streak;
  EXPECT_EQ(streak.on_failure(Instant{1s})->kind, EventKind::first_failure);
  EXPECT_FALSE(streak.on_failure(Instant{2s}));
  EXPECT_FALSE(streak.on_success());
  EXPECT_FALSE(streak.on_failure(Instant{12s}));  // Ten seconds after the last: not quiet yet.
  (void)streak.on_success();
  EXPECT_EQ(streak.on_failure(Instant{22s + 1ns})->kind, EventKind::first_failure);
}

TEST(FailureStreak, ASlowCallersFailuresAreNotAllTheFirst) {
  FailureStreak streak;
  int first = 0;
  int repeated = 0;
  for (int i = 0; i < 100; ++i) {
    const auto change = streak.on_failure(Instant{i * 15s});
    if (!change) continue;
    (change->kind == EventKind::first_failure ? first : repeated) += 1;
  }
  EXPECT_EQ(first, 1);
  EXPECT_EQ(repeated, 2);  // The 10th and the 100th.
}

TEST(FailureStreak, TheTenthHundredthAndThousandthInARowAreEvents) {
  FailureStreak streak;
  std::vector<std::int64_t> counts;
  for (int i = 1; i <= 1'000; ++i) {
    const auto change = streak.on_failure(Instant{1s});
    if (change && change->kind == EventKind::repeated_failure) counts.push_back(change->count);
  }
  EXPECT_EQ(counts, (std::vector<std::int64_t>{10, 100, 1000}));
}

TEST(FailureStreak, ARecoveryFromTenOrMoreIsAnEvent) {
  FailureStreak streak;
  for (int i = 0; i < 9; ++i) (void)streak.on_failure(Instant{1s});
  EXPECT_FALSE(streak.on_success());
  for (int i = 0; i < 10; ++i) (void)streak.on_failure(Instant{1s});
  EXPECT_EQ(streak.on_success()->count, 10);
  EXPECT_FALSE(streak.on_success());
}

TEST(FailureStreak, ASilenceLastsFromTheFirstCutAttemptToTheNextAnswer) {
  FailureStreak streak;
  EXPECT_FALSE(streak.is_running());
  EXPECT_EQ(streak.on_cut_short(Instant{10s}), 0s);
  EXPECT_TRUE(streak.is_running());  // So a success reports.
  const Duration silence = streak.on_cut_short(Instant{15s});
  EXPECT_GE(silence, 5s - 2ms);
  EXPECT_LE(silence, 5s + 2ms);
  EXPECT_EQ(streak.on_cut_short(Instant{9s}), 0s);  // A clock of another thread.
  streak.on_answer();
  EXPECT_FALSE(streak.is_running());
  EXPECT_EQ(streak.on_cut_short(Instant{20s}), 0s);
  EXPECT_FALSE(streak.on_success());
  EXPECT_EQ(streak.on_cut_short(Instant{30s}), 0s);
  EXPECT_EQ(FailureStreak().on_cut_short(Instant{0s}), 0s);
}

TEST(FailureStreak, ASilenceMayBeginAtTheEpoch) {  // The first tick counts as the second one.
  constexpr Duration kTick{1 << 20};
  FailureStreak streak;
  EXPECT_EQ(streak.on_cut_short(Instant{0s}), 0s);
  EXPECT_EQ(streak.on_cut_short(Instant{2 * kTick}), kTick);
  streak.on_answer();
  EXPECT_FALSE(streak.is_running());
}

TEST(FailureStreak, ACutAttemptIsNoFailure) {
  FailureStreak streak;
  for (int i = 0; i < 5; ++i) (void)streak.on_failure(Instant{1s});
  for (int i = 0; i < 20; ++i) (void)streak.on_cut_short(Instant{2s});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(streak.on_failure(Instant{3s}));
  EXPECT_EQ(streak.on_failure(Instant{3s})->count, 10);
  EXPECT_GE(streak.on_cut_short(Instant{4s}), 1998ms);  // No answer so far.
  streak.on_answer();
  EXPECT_EQ(streak.on_success()->count, 10);
}

}  // namespace
}  // namespace damper::engine
