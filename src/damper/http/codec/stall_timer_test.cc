#include "damper/http/codec/stall_timer.h"

#include <gtest/gtest.h>

#include "damper/http/codec/output_buffer.h"

namespace damper::http {
namespace {

constexpr Instant at(int ms) { return Instant{std::chrono::milliseconds(ms)}; }
constexpr Duration kLimit = std::chrono::milliseconds(10);

TEST(StallTimer, ExpiresAtItsTimeAndNeverWhenStopped) {
  StallTimer timer;
  EXPECT_EQ(timer.due(kLimit), kNever);
  EXPECT_FALSE(timer.has_expired(at(100), kLimit));
  timer.begin(at(5), true);
  EXPECT_EQ(timer.due(kLimit), at(15));
  EXPECT_FALSE(timer.has_expired(at(14), kLimit));
  EXPECT_TRUE(timer.has_expired(at(15), kLimit));
  timer.stop();
  EXPECT_FALSE(timer.has_expired(at(100), kLimit));
}

TEST(StallTimer, OneThatBeganAtAnUnknownTimeIsGivenItsWholeTimeOnce) {
  StallTimer timer;
  timer.begin(at(5), false);
  EXPECT_FALSE(timer.has_expired(at(500), kLimit));
  EXPECT_EQ(timer.due(kLimit), at(510));
  EXPECT_TRUE(timer.has_expired(at(510), kLimit));
}

TEST(MinRateTimer, APeerThatDripsExpiresAndOneWithAKilobyteASecondDoesNot) {
  const Duration limit = std::chrono::seconds(10);
  const auto at = [](std::int64_t seconds) { return Instant{std::chrono::seconds(seconds)}; };
  MinRateTimer timer;
  EXPECT_EQ(timer.due(limit), kNever);
  timer.begin(at(0), true);
  for (int i = 0; i < 9; ++i) timer.add(1);
  EXPECT_FALSE(timer.has_expired(at(9), limit));
  EXPECT_TRUE(timer.has_expired(at(10), limit));
  EXPECT_FALSE(timer.has_expired(at(10), Duration{0}));  // Disabled.
  EXPECT_EQ(timer.due(Duration{0}), kNever);
  timer.add(1015);
  EXPECT_EQ(timer.due(limit), at(11));
  timer.add(std::size_t{1} << 62);
  EXPECT_LT(timer.due(limit), kNever);
  timer.begin(at(20), true);
  EXPECT_EQ(timer.due(limit), at(30));
  timer.stop();
  EXPECT_FALSE(timer.has_expired(at(40), limit));
}

TEST(CallClock, IsExactInsideOfACallThatPassesTheTime) {
  CallClock clock(at(1));
  EXPECT_FALSE(clock.is_exact());
  {
    const CallClock::Call outer(clock, at(5));
    EXPECT_EQ(clock.now(), at(5));
    EXPECT_TRUE(clock.is_exact());
    const CallClock::Call inner(clock);  // from a user, inside of the first
    EXPECT_TRUE(clock.is_exact());
    EXPECT_EQ(clock.depth(), 2U);
  }
  EXPECT_FALSE(clock.is_exact());
  const CallClock::Call later(clock);
  EXPECT_FALSE(clock.is_exact());
  EXPECT_EQ(clock.now(), at(5));
  StallTimer timer;
  timer.begin(clock);
  EXPECT_FALSE(timer.has_expired(at(15), kLimit));  // It begins again.
  EXPECT_TRUE(timer.has_expired(at(25), kLimit));
}

constexpr Instant at_second(int seconds) { return Instant{std::chrono::seconds(seconds)}; }
constexpr ConnectionLimits kLimits{.write_timeout = std::chrono::seconds(10),
                                   .message_timeout = std::chrono::seconds(15)};

// (1)
TEST(OutputBuffer, ExpiresWithoutProgressOrWithTooLittle) {
  CallClock clock(at_second(0));
  const CallClock::Call call(clock, at_second(0));
  OutputBuffer output(1024);
  output.on_appended(clock);
  EXPECT_EQ(output.deadline(kLimits), kNever);  // Nothing is unsent.
  output.bytes() += "hello";
  output.on_appended(clock);
  EXPECT_EQ(output.deadline(kLimits), at_second(10));
  output.on_sent(2, at_second(8));
  EXPECT_EQ(output.unsent(), "llo");
  EXPECT_EQ(output.deadline(kLimits), at_second(15));  // message_timeout, since it was empty
  EXPECT_FALSE(output.has_expired(at_second(14), kLimits));
  EXPECT_TRUE(output.has_expired(at_second(15), kLimits));
  output.on_sent(3, at_second(9));
  EXPECT_EQ(output.deadline(kLimits), kNever);
}

// (2)
TEST(OutputBuffer, AnEmptyOneKeepsASmallBufferAlone) {
  OutputBuffer output(1024);
  output.bytes().assign(1000, 'x');
  output.on_sent(1000, at_second(0));
  const std::size_t kept = output.bytes().capacity();
  EXPECT_GE(kept, 1000U);
  EXPECT_LE(kept, 1024U);
  output.bytes().assign(5000, 'x');
  output.compact(10);
  output.on_sent(11, at_second(0));
  output.compact(10);
  EXPECT_EQ(output.bytes().size(), 4989U);
  output.on_sent(4989, at_second(0));
  EXPECT_LT(output.bytes().capacity(), 1000U);
}

}  // namespace
}  // namespace damper::http
