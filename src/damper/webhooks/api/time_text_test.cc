#include "damper/webhooks/api/time_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace damper::webhooks {
namespace {

using std::chrono::milliseconds;

TEST(TimeText, IsReadAsItWasWritten) {  // (1)
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'582'934'400'000},
        std::int64_t{1'794'000'000'250}, std::int64_t{253'402'300'799'999}}) {
    const UnixTime at{milliseconds(time)};
    const auto read = parse_time(time_text(at));
    ASSERT_TRUE(read) << time_text(at);
    EXPECT_EQ(*read, at);
  }
  EXPECT_EQ(time_text(UnixTime{milliseconds(1'582'934'400'007)}), "2020-02-29T00:00:00.007Z");
}

TEST(TimeText, AFractionIsOptional) {
  EXPECT_EQ(*parse_time("1970-01-01T00:00:01Z"), UnixTime{milliseconds(1000)});
  EXPECT_EQ(*parse_time("1970-01-01T00:00:01.5Z"), UnixTime{milliseconds(1500)});
  EXPECT_EQ(*parse_time("1970-01-01T00:00:01.25Z"), UnixTime{milliseconds(1250)});
}

TEST(TimeText, RefusesEverythingElse) {
  for (const char* const text :
       {"", "Z", "2026-11-16", "2026-11-16T20:15:00", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-16T24:00:00Z", "2026-11-16T20:60:00Z",
        "2026-11-16T20:15:60Z", "2026-11-16T20:15:00.Z", "2026-11-16T20:15:00.1234Z",
        "2026-11-16T20:15:00+01:00", "2026-11-16 20:15:00Z", "1969-12-31T23:59:59Z",
        "+026-11-16T20:15:00Z", "2026-11-16T20:15:00ZZ"}) {
    const auto read = parse_time(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().find("is not a time"), std::string::npos);
  }
}

}  // namespace
}  // namespace damper::webhooks
