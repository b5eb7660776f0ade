#include "damper/http/server/guard_refusal.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(GuardRefusal, OverloadSaysWhenToComeBackAndADeadlineDoesNot) {
  const Response shed = refusal(Verdict::shed, milliseconds(1500), 503, 0);
  EXPECT_EQ(shed.status, 503);
  EXPECT_EQ(shed.fields.find("retry-after"), "2");
  EXPECT_EQ(shed.fields.find("damper-verdict"), "shed");
  EXPECT_EQ(refusal(Verdict::limited, seconds(1), 429, 0).status, 429);
  const Response late = refusal(Verdict::deadline_passed, Duration{0}, 503, 0);
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.fields.find("retry-after"), std::nullopt);
  EXPECT_EQ(refusal(Verdict::deadline_too_close, Duration{0}, 503, 0).status, 504);
}

TEST(GuardRefusal, RetryAfterIsNeverEarlyAndUpToASecondLater) {
  EXPECT_EQ(retry_after_seconds(Duration{0}, 0), seconds(1));
  EXPECT_EQ(retry_after_seconds(seconds(2), 0), seconds(2));
  EXPECT_EQ(retry_after_seconds(seconds(2), kLargestDraw), seconds(3));
  EXPECT_EQ(retry_after_seconds(milliseconds(2001), 0), seconds(3));
  EXPECT_EQ(retry_after_seconds(milliseconds(300), 0.5), seconds(1));
  EXPECT_EQ(retry_after_seconds(milliseconds(300), 0.9), seconds(2));
  EXPECT_EQ(retry_after_seconds(kForever, kLargestDraw), kLongest + seconds(1));
}

}  // namespace
}  // namespace damper::http
