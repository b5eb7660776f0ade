#include "damper/schedule/deadline.h"

#include <gtest/gtest.h>

namespace damper::schedule {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, IsPassedAtItsInstantNotAfterIt) {
  const Deadline deadline = Deadline::in(100ms, Instant{5ms});
  EXPECT_FALSE(deadline.passed(Instant{105ms - 1ns}));
  EXPECT_TRUE(deadline.passed(Instant{105ms}));
}

TEST(Deadline, RemainingTimeIsNeverNegative) {  // Invariant (2).
  const Deadline deadline(Instant{100ms});
  EXPECT_EQ(deadline.remaining(Instant{30ms}), 70ms);
  EXPECT_EQ(deadline.remaining(Instant{100ms}), 0ms);
  EXPECT_EQ(deadline.remaining(kNever), 0ms);
  EXPECT_EQ(Deadline().remaining(Instant::min()), kForever);
}

TEST(Deadline, FitsExactlyUpToTheInstant) {
  const Deadline deadline(Instant{100ms});
  EXPECT_TRUE(deadline.fits(Instant{90ms}, 10ms));
  EXPECT_FALSE(deadline.fits(Instant{90ms}, 10ms + 1ns));
  EXPECT_FALSE(deadline.fits(Instant{90ms}, kForever));
  EXPECT_TRUE(Deadline().fits(Instant{90ms}, kForever));  // No deadline: everything fits.
}

TEST(Deadline, OnlyGetsNearerOnItsWayDown) {  // Invariant (1).
  const Deadline deadline(Instant{100ms});
  EXPECT_EQ(deadline.less(10ms).at(), Instant{90ms});
  EXPECT_EQ(Deadline().less(10ms), Deadline());
  EXPECT_EQ(deadline.earlier(Deadline(Instant{50ms})).at(), Instant{50ms});
  EXPECT_EQ(deadline.earlier(Deadline()), deadline);
}

}  // namespace
}  // namespace damper::schedule
