#include "damper/decide/http_date.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::decide {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr UnixTime kNow = sys_days{2026y / 1 / 2} + 3h;

std::optional<sys_seconds> found(std::string_view text, UnixTime now = kNow) {
  return find_http_date(text, now);
}

TEST(HttpDate, ReadsTheThreeForms) {
  constexpr sys_seconds kRfcExample{784111777s};
  EXPECT_EQ(found("Sun, 06 Nov 1994 08:49:37 GMT"), kRfcExample);
  EXPECT_EQ(found("Sunday, 06-Nov-94 08:49:37 GMT"), kRfcExample);
  EXPECT_EQ(found("Sun Nov  6 08:49:37 1994"), kRfcExample);
  EXPECT_EQ(found("Wed Nov 16 08:49:37 1994"), kRfcExample + 240h);
}

TEST(HttpDate, KnowsTheCalendar) {
  EXPECT_EQ(found("Thu, 01 Jan 1970 00:00:00 GMT"), sys_seconds{0s});
  EXPECT_EQ(found("Thu, 29 Feb 2024 23:59:59 GMT"), sys_seconds{1709251199s});
  EXPECT_EQ(found("Fri, 31 Dec 9999 23:59:59 GMT"), sys_seconds{253402300799s});
  EXPECT_FALSE(found("Wed, 29 Feb 2023 00:00:00 GMT"));
  EXPECT_FALSE(found("Wed, 29 Feb 2100 00:00:00 GMT"));
  EXPECT_FALSE(found("Sun, 00 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(found("Sun, 31 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(found("Sun, 06 Nov 1994 24:00:00 GMT"));
  EXPECT_FALSE(found("Sun, 06 Nov 1994 1/:49:37 GMT"));  // The byte before 0.
  EXPECT_FALSE(found("Sun, 06 Nov 1994 08:60:37 GMT"));
  EXPECT_FALSE(found("Sun, 06 Nov 1994 08:49:61 GMT"));
}

TEST(HttpDate, ALeapSecondIsTheSecondAfter) {
  EXPECT_EQ(found("Sat, 31 Dec 2016 23:59:60 GMT"), found("Sun, 01 Jan 2017 00:00:00 GMT"));
}

TEST(HttpDate, AWrongNameOfTheDayIsForgivenAnUnknownOneIsNot) {
  EXPECT_EQ(found("Mon, 06 Nov 1994 08:49:37 GMT"), sys_seconds{784111777s});
  EXPECT_FALSE(found("Xxx, 06 Nov 1994 08:49:37 GMT"));
}

TEST(HttpDate, EveryByteOfTheFormCounts) {
  for (const char* form : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    const std::string text(form);
    for (std::size_t i = 0; i < text.size(); ++i) {
      // In memory that ends there, so that the address sanitizer sees a read past the end.
      const std::vector<char> cut(form, form + i);
      EXPECT_FALSE(found({cut.data(), cut.size()})) << "cut at " << i << ": " << text;
      std::string broken = text;
      broken[i] = '?';
      EXPECT_FALSE(found(broken)) << broken;
      broken = text;
      broken.insert(i, 1, ' ');
      EXPECT_FALSE(found(broken)) << broken;
    }
    EXPECT_FALSE(found(text + ' '));
    EXPECT_FALSE(found(text + '\0'));
  }
  EXPECT_FALSE(found("sun, 06 nov 1994 08:49:37 gmt"));
  EXPECT_FALSE(found("Sun, 06 Nov 1994 08:49:37 UTC"));
  EXPECT_FALSE(found("Sun, 06 Nov 94 08:49:37 GMT"));
  EXPECT_FALSE(found("Sunday, 06 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(found("Sun, 06-Nov-94 08:49:37 GMT"));
}

TEST(HttpDate, AYearOfTwoDigitsIsAtMostFiftyYearsAhead) {
  const auto year_of = [](std::string_view text, UnixTime now) {
    const auto time = find_http_date(text, now);
    if (!time) return 0;
    return static_cast<int>(
        std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(*time)).year());
  };
  EXPECT_EQ(year_of("Friday, 02-Jan-26 03:00:00 GMT", kNow), 2026);
  EXPECT_EQ(year_of("Thursday, 02-Jan-76 03:00:00 GMT", kNow), 2076);  // 50 years to the second
  EXPECT_EQ(year_of("Thursday, 02-Jan-76 03:00:01 GMT", kNow), 1976);
  EXPECT_EQ(year_of("Sunday, 02-Jan-77 03:00:00 GMT", kNow), 1977);
  EXPECT_EQ(year_of("Sunday, 02-Jan-00 03:00:00 GMT", kNow), 2000);
  // Near the end of a century the latest such year is in the next one.
  EXPECT_EQ(year_of("Sunday, 02-Jan-01 03:00:00 GMT", UnixTime{sys_days{2099y / 12 / 31}}), 2101);
  // 29 February is a day of few years: the latest year that has it.
  EXPECT_EQ(year_of("Monday, 29-Feb-00 00:00:00 GMT", UnixTime{sys_days{2090y / 1 / 1}}), 2000);
  EXPECT_EQ(year_of("Monday, 29-Feb-23 00:00:00 GMT", kNow), 0);
}

TEST(HttpDate, ReadsWhatIsWrittenInEveryForm) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    // 1976-01-03 to 2076-01-01: within RFC 850's century around kNow.
    const auto seconds = static_cast<std::time_t>(189475200 + random.bits() % 3155500800U);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    for (const char* form :
         {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
      char text[64];
      const std::size_t size = std::strftime(text, sizeof text, form, &parts);
      ASSERT_EQ(found({text, size}), sys_seconds{std::chrono::seconds(seconds)})
          << "seed " << seed << ": " << text;
    }
  }
}

}  // namespace
}  // namespace damper::decide
