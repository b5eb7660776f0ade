#include "damper/base/duration_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper {
namespace {

using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
  const Expected<Duration> parsed = parse_duration(text);
  return parsed ? "parsed as " + format_duration(*parsed) : parsed.error();
}

TEST(DurationText, ReadsEveryUnit) {
  EXPECT_EQ(*parse_duration("5ns"), 5ns);
  EXPECT_EQ(*parse_duration("100us"), 100us);
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("2s"), 2s);
  EXPECT_EQ(*parse_duration("1.5m"), 90s);
  EXPECT_EQ(*parse_duration("1h"), 3600s);
}

TEST(DurationText, ZeroNeedsNoUnit) {
  EXPECT_EQ(*parse_duration("0"), 0ns);
  EXPECT_EQ(*parse_duration("0s"), 0ns);
  EXPECT_EQ(*parse_duration("0.000h"), 0ns);
  EXPECT_EQ(error_of("00"), "duration \"00\" has no unit; the units are ns, us, ms, s, m and h");
}

// Invariant 1.
TEST(DurationText, DecimalsAreExact) {
  EXPECT_EQ(*parse_duration("0.1s"), 100'000'000ns);
  EXPECT_EQ(*parse_duration("0.8s"), 800'000'000ns);
  EXPECT_EQ(*parse_duration("0.000000001s"), 1ns);
  EXPECT_EQ(*parse_duration("1.001us"), 1001ns);
  EXPECT_EQ(*parse_duration("0.25us"), 250ns);
  EXPECT_EQ(*parse_duration("0.0000000000025h"), 9ns);
  EXPECT_EQ(*parse_duration("719.9999999999975h"), kLongest - 9ns);
  EXPECT_EQ(*parse_duration("1.50000000000000000000000000s"), 1500ms);
  EXPECT_EQ(*parse_duration("0000000000000000000000000001s"), 1s);
}

// Invariant 1.
TEST(DurationText, WhatIsNoWholeNumberOfNanosecondsIsAnError) {
  EXPECT_EQ(error_of("1.5ns"),
            "duration \"1.5ns\" is not a whole number of nanoseconds; leave out the last decimals");
  EXPECT_FALSE(parse_duration("0.0000000001s"));
  EXPECT_FALSE(parse_duration("0.1234567891s"));
  EXPECT_FALSE(parse_duration("0.00000000000001h"));
}

// Invariant 2.
TEST(DurationText, TheLongestIsThirtyDays) {
  EXPECT_EQ(*parse_duration("720h"), kLongest);
  EXPECT_EQ(*parse_duration("2592000000000000ns"), kLongest);
  EXPECT_EQ(error_of("2592000000000001ns"),
            "duration \"2592000000000001ns\" is over the longest, which is 720h (30 days)");
  EXPECT_FALSE(parse_duration("720.001h"));
  EXPECT_FALSE(parse_duration("721h"));
  EXPECT_FALSE(parse_duration("18446744073709551617s"));  // 2^64 + 1
  EXPECT_FALSE(parse_duration("5124096h"));               // wraps to about 0 in 64 bits
}

// Invariant 4.
TEST(DurationText, SaysWhatIsWrongInOneSentence) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "duration is empty; write one such as 250ms, 2s or 1.5m"},
      {"-5s", "duration \"-5s\" is negative; write one such as 250ms, 2s or 1.5m"},
      {"-", "duration \"-\" does not begin with a digit; write one such as 250ms, 2s or 1.5m"},
      {"+5s", "duration \"+5s\" does not begin with a digit; write one such as 250ms, 2s or 1.5m"},
      {" 5s", "duration \" 5s\" does not begin with a digit; write one such as 250ms, 2s or 1.5m"},
      {".5s", "duration \".5s\" does not begin with a digit; write one such as 250ms, 2s or 1.5m"},
      {"1.s", "duration \"1.s\" has no digit after its point; write one such as 250ms, 2s or 1.5m"},
      {"30", "duration \"30\" has no unit; the units are ns, us, ms, s, m and h"},
      {"1.5", "duration \"1.5\" has no unit; the units are ns, us, ms, s, m and h"},
      {"2d", "duration \"2d\" has the unknown unit \"d\"; the units are ns, us, ms, s, m and h"},
      {"2 s", "duration \"2 s\" has the unknown unit \" s\"; the units are ns, us, ms, s, m and h"},
      {"2S", "duration \"2S\" has the unknown unit \"S\"; the units are ns, us, ms, s, m and h"},
      {"1h30m",
       "duration \"1h30m\" has the unknown unit \"h30m\"; the units are ns, us, ms, s, m and h"},
      {"1.2.3s",
       "duration \"1.2.3s\" has the unknown unit \".3s\"; the units are ns, us, ms, s, m and h"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(error_of(text), error);
}

// Invariant 4.
TEST(DurationText, AnErrorRepeatsABoundedPrintablePartOfTheInput) {
  EXPECT_EQ(error_of(std::string_view("\0\"\\\n~\x7f\xc2", 7)),
            "duration \"\\x00\\\"\\\\\\x0a~\\x7f\\xc2\" does not begin with a digit; "
            "write one such as 250ms, 2s or 1.5m");
  EXPECT_EQ(error_of(std::string(40, 'x')),
            "duration \"" + std::string(40, 'x') +
                "\" does not begin with a digit; write one such as 250ms, 2s or 1.5m");
  EXPECT_EQ(error_of(std::string(1'000'000, 'x')),
            "duration \"" + std::string(40, 'x') +
                "\"... does not begin with a digit; write one such as 250ms, 2s or 1.5m");
  EXPECT_EQ(error_of(std::string(1'000'000, '\n')).substr(0, 56),
            "duration \"\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\"... d");
  EXPECT_LT(error_of('5' + std::string(1'000'000, 'x')).size(), 200U);
}

TEST(DurationText, WritesTheLargestUnitWithAtMostThreeDecimals) {
  EXPECT_EQ(format_duration(0ns), "0s");
  EXPECT_EQ(format_duration(5ns), "5ns");
  EXPECT_EQ(format_duration(999ns), "999ns");
  EXPECT_EQ(format_duration(1500ns), "1.5us");
  EXPECT_EQ(format_duration(250ms), "250ms");
  EXPECT_EQ(format_duration(1001ms), "1.001s");
  EXPECT_EQ(format_duration(1010ms), "1.01s");
  EXPECT_EQ(format_duration(1000100us), "1000.1ms");
  EXPECT_EQ(format_duration(90s), "1.5m");
  EXPECT_EQ(format_duration(100s), "100s");
  EXPECT_EQ(format_duration(1h), "1h");
  EXPECT_EQ(format_duration(1h + 1ns), "3600000000.001us");
  EXPECT_EQ(format_duration(kLongest), "720h");
}

TEST(DurationText, EveryDurationHasAForm) {
  EXPECT_EQ(format_duration(-1500ms), "-1.5s");
  EXPECT_EQ(format_duration(kForever), "9223372036854775.807us");
  EXPECT_EQ(format_duration(Duration::min()), "-9223372036854775.808us");
}

// Invariant 3.
TEST(DurationText, WhatIsWrittenReadsBackTheSame) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Random random(seed);
    const auto longest = static_cast<std::uint64_t>(kLongest.count()) + 1;
    std::uint64_t count = random.bits() % longest >> random.bits() % 52;
    // Half of them round, so that every unit and number of decimals comes up.
    std::uint64_t grain = 1;
    for (std::uint64_t zeros = random.bits() % 16; zeros > 0; --zeros) grain *= 10;
    if (seed % 2 == 0) count -= count % grain;
    const Duration duration{static_cast<std::int64_t>(count)};
    const std::string text = format_duration(duration);
    const Expected<Duration> back = parse_duration(text);
    ASSERT_TRUE(back) << "seed " << seed << ": " << text << ": " << back.error();
    ASSERT_EQ(*back, duration) << "seed " << seed << ": " << text;
  }
}

}  // namespace
}  // namespace damper
