#include "damper/decide/retry_after.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "damper/base/random.h"

namespace damper::decide {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kNow{784111777s};  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(RetryAfter, ReadsSeconds) {
  EXPECT_EQ(find_retry_after("120", kNow), 120s);
  EXPECT_EQ(find_retry_after("0", kNow), 0s);
  EXPECT_EQ(find_retry_after("007", kNow), 7s);
  EXPECT_EQ(find_retry_after(" \t30\t ", kNow), 30s);
  EXPECT_EQ(find_retry_after(" 30 ", kNow), 30s);
}

TEST(RetryAfter, TrapA3_AnHttpDateIsUnderstoodInAllItsForms) {
  EXPECT_EQ(find_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", kNow), 30s);
  EXPECT_EQ(find_retry_after("Sunday, 06-Nov-94 08:50:07 GMT", kNow), 30s);
  EXPECT_EQ(find_retry_after("Sun Nov  6 08:50:07 1994", kNow), 30s);
  EXPECT_EQ(find_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", kNow + 29'999ms), 1ms);
}

// Invariant 3.
TEST(RetryAfter, ADateInThePastMeansNow) {
  EXPECT_EQ(find_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kNow), 0s);
  EXPECT_EQ(find_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kNow + 1ms), 0s);
  EXPECT_EQ(find_retry_after("Sat, 01 Jan 0000 00:00:00 GMT", kNow), 0s);
  EXPECT_EQ(find_retry_after("Sat, 01 Jan 0000 00:00:00 GMT", UnixTime::max()), 0s);
}

// Invariant 2. Trap A1: never earlier than the server said, so what does not fit is for ever.
TEST(RetryAfter, TrapA1_WhatDoesNotFitIsHeldAtForEverNotCutShort) {
  EXPECT_EQ(find_retry_after("2592001", kNow), 2592001s);  // over kLongest, and still exact
  EXPECT_EQ(find_retry_after("9223372036", kNow), 9223372036s);
  EXPECT_EQ(find_retry_after("9223372037", kNow), kForever);
  EXPECT_EQ(find_retry_after("9223372036854775808", kNow), kForever);
  EXPECT_EQ(find_retry_after("18446744073709551616", kNow), kForever);
  EXPECT_EQ(find_retry_after(std::string(10'000, '9'), kNow), kForever);
  EXPECT_EQ(find_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", kNow), kForever);
  EXPECT_EQ(find_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", UnixTime::min()), kForever);
}

TEST(RetryAfter, WhatIsNotUnderstoodChangesNothing) {
  for (const char* value : {"", " ", "-1", "+1", "1.5", "1s", "0x10", "1 2", "1,2", "soon",
                            "Sun, 06 Nov 1994", "99999999999999999999x"}) {
    Report report{.outcome = Outcome::transient};
    read_retry_after(value, kNow, report);
    EXPECT_FALSE(report.server_said_when()) << value;
    EXPECT_FALSE(report.do_not_retry) << value;
  }
}

// Invariant 1.
TEST(RetryAfter, OfTwoWordsTheLaterStands) {
  Report report{.outcome = Outcome::overload};
  read_retry_after("10", kNow, report);
  EXPECT_EQ(report.retry_after, 10s);
  read_rate_limit_reset("60", kNow, report);
  EXPECT_EQ(report.retry_after, 60s);
  read_grpc_pushback("1500", report);
  EXPECT_EQ(report.retry_after, 60s);
  read_retry_after("0", kNow, report);
  EXPECT_EQ(report.retry_after, 60s);
}

TEST(RetryAfter, APushbackIsMillisecondsToWait) {
  Report report{.outcome = Outcome::transient};
  read_grpc_pushback("1500", report);
  EXPECT_EQ(report.retry_after, 1500ms);
  EXPECT_FALSE(report.do_not_retry);
  Report at_once{.outcome = Outcome::transient};
  read_grpc_pushback("0", at_once);
  EXPECT_EQ(at_once.retry_after, 0ms);
  Report far{.outcome = Outcome::transient};
  read_grpc_pushback("99999999999999999999", far);
  EXPECT_EQ(far.retry_after, kForever);
}

TEST(RetryAfter, ANegativeOrUnreadablePushbackMeansDoNotRetry) {
  for (const char* value : {"-1", "-0", "", "abc", "1.5", "10ms", "+5"}) {
    Report report{.outcome = Outcome::transient};
    read_grpc_pushback(value, report);
    EXPECT_TRUE(report.do_not_retry) << value;
    EXPECT_FALSE(report.server_said_when()) << value;
  }
}

TEST(RetryAfter, ARateLimitResetIsSecondsFromNowOrSince1970) {
  EXPECT_EQ(find_rate_limit_reset("50", kNow), 50s);
  const UnixTime now{1'700'000'000s};
  EXPECT_EQ(find_rate_limit_reset("1700000060", now), 60s);
  EXPECT_EQ(find_rate_limit_reset("1699999999", now), 0s);
  EXPECT_EQ(find_rate_limit_reset("1000000000", now), 1'000'000'000s);
  EXPECT_EQ(find_rate_limit_reset("1000000001", now), 0s);
  EXPECT_EQ(find_rate_limit_reset("18446744073709551615", now), kForever);
  // Milliseconds since 1970, read as seconds: far away, and so never too early.
  EXPECT_EQ(find_rate_limit_reset("1700000060000", now), kForever);
  EXPECT_FALSE(find_rate_limit_reset("Sun, 06 Nov 1994 08:49:37 GMT", now));
  EXPECT_FALSE(find_rate_limit_reset("", now));
}

TEST(RetryAfter, ARateLimitResetCountsOnlyBesideAnOverload) {
  Report unwell{.outcome = Outcome::transient};
  read_rate_limit_reset("3600", kNow, unwell);
  EXPECT_FALSE(unwell.server_said_when());
  Report limited{.outcome = Outcome::overload};
  read_rate_limit_reset("3600", kNow, limited);
  EXPECT_EQ(limited.retry_after, 3600s);
}

// Invariants 1 and 2.
TEST(RetryAfter, IsNeverEarlierThanTheServerSaid) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    Report report{.outcome = Outcome::overload};
    Duration latest = Report::kUnsaid;
    for (int word = 0; word < 4; ++word) {
      const std::uint64_t number = random.bits() >> random.bits() % 64;
      const bool pushback = random.draw() < 0.5;
      const std::uint64_t unit = pushback ? 1'000'000 : 1'000'000'000;
      std::uint64_t exact = 0;
      const bool fits = !__builtin_mul_overflow(number, unit, &exact) &&
                        exact <= static_cast<std::uint64_t>(kForever.count());
      latest = std::max(latest, fits ? Duration(static_cast<std::int64_t>(exact)) : kForever);
      if (pushback) {
        read_grpc_pushback(std::to_string(number), report);
      } else {
        read_retry_after(std::to_string(number), kNow, report);
      }
      ASSERT_EQ(report.retry_after, latest) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace damper::decide
