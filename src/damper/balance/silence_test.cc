#include "damper/balance/silence.h"

#include <gtest/gtest.h>

namespace damper::balance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};
constexpr Duration kHalfLife = seconds(10);

Duration length(const Silence& silence, Instant now, Duration most = seconds(60)) {
  return silence.length(now, most, kHalfLife);
}

TEST(Silence, IsTheTimeForWhichSomeAttemptWaited) {
  Silence silence;
  EXPECT_EQ(length(silence, kStart), Duration{0});
  const auto first = silence.on_sent(kStart, kHalfLife);
  const auto second = silence.on_sent(kStart + seconds(2), kHalfLife);
  EXPECT_EQ(length(silence, kStart + seconds(2)), seconds(2));
  silence.on_end(first, kStart + seconds(2));
  silence.on_end(second, kStart + seconds(2));
  EXPECT_EQ(length(silence, kStart + seconds(2)), seconds(2));
  (void)silence.on_sent(kStart + seconds(12), kHalfLife);  // Faded meanwhile.
  EXPECT_EQ(length(silence, kStart + seconds(12)), seconds(1));
}

TEST(Silence, EndsWithAnAnswerAlsoForAttemptsThatWereSentBefore) {
  Silence silence;
  const auto upload = silence.on_sent(kStart, kHalfLife);
  (void)silence.on_sent(kStart + seconds(1), kHalfLife);
  silence.on_answer();
  EXPECT_EQ(length(silence, kStart + seconds(1)), Duration{0});
  (void)silence.on_sent(kStart + seconds(1), kHalfLife);
  silence.on_end(upload, kStart + seconds(3));  // Of another round: no end of this one.
  EXPECT_GT(length(silence, kStart + seconds(4)), length(silence, kStart + seconds(3)));
}

TEST(Silence, IsBoundedAndFadesFromTheLastAttempt) {
  Silence silence;
  (void)silence.on_sent(kStart, kHalfLife);
  EXPECT_EQ(length(silence, kStart + seconds(10), seconds(1)), milliseconds(500));
  EXPECT_EQ(length(silence, kStart + seconds(20), seconds(1)), milliseconds(250));
  (void)silence.on_sent(kStart + seconds(20), kHalfLife);
  EXPECT_EQ(length(silence, kStart + seconds(20), seconds(1)), seconds(1));
}

TEST(Silence, TimeThatGoesBackIsNoTime) {
  Silence silence;
  const auto round = silence.on_sent(kStart, kHalfLife);
  EXPECT_EQ(length(silence, kStart - seconds(1)), Duration{0});
  silence.on_end(round, kStart - seconds(1));
  EXPECT_EQ(length(silence, kStart), Duration{0});
  (void)silence.on_sent(Instant::min(), kHalfLife);
  EXPECT_LE(length(silence, Instant::max(), kForever), kLongest);
}

}  // namespace
}  // namespace damper::balance
