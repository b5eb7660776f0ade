#include "damper/schedule/deadline_header.h"

#include <gtest/gtest.h>

#include "damper/base/random.h"

namespace damper::schedule {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kNow{1'700'000'000'000ms};

TEST(GrpcTimeout, ReadsEveryUnit) {
  EXPECT_EQ(find_grpc_timeout("2H"), 2h);
  EXPECT_EQ(find_grpc_timeout("3M"), 3min);
  EXPECT_EQ(find_grpc_timeout("4S"), 4s);
  EXPECT_EQ(find_grpc_timeout("100m"), 100ms);
  EXPECT_EQ(find_grpc_timeout("5u"), 5us);
  EXPECT_EQ(find_grpc_timeout("12345678n"), 12'345'678ns);
  EXPECT_EQ(find_grpc_timeout("00000001S"), 1s);
  EXPECT_EQ(find_grpc_timeout("0n"), 0s);
}

// Invariant 1.
TEST(GrpcTimeout, ALongerTimeIsHeldAtTheLongest) {
  EXPECT_EQ(find_grpc_timeout("720H"), kLongest);
  EXPECT_EQ(find_grpc_timeout("721H"), kLongest);
  EXPECT_EQ(find_grpc_timeout("99999999H"), kLongest);  // 3.6e20 ns: beyond 64 bits
  EXPECT_EQ(find_grpc_timeout("99999999S"), kLongest);
  EXPECT_EQ(find_grpc_timeout("99999999m"), 99'999'999ms);
}

// Invariant 3.
TEST(GrpcTimeout, WhatIsMalformedIsNothing) {
  for (const char* value : {"", "S", "1", "10", "123456789S", "000000001S", "-1S", "+1S", " 1S",
                            "1S ", "1 S", "1s", "1h", "1.5S", "1ms", "1SS", "0x1S", "mS"}) {
    EXPECT_FALSE(find_grpc_timeout(value)) << value;
  }
  EXPECT_FALSE(find_grpc_timeout(std::string(1'000'000, '9') + 'S'));
  EXPECT_FALSE(find_grpc_timeout(std::string_view("1\0S", 3)));
}

// Invariant 2.
TEST(GrpcTimeout, IsWrittenInTheFinestUnitThatFitsAndRoundedDown) {
  EXPECT_EQ(format_grpc_timeout(1ns), "1n");
  EXPECT_EQ(format_grpc_timeout(99'999'999ns), "99999999n");
  EXPECT_EQ(format_grpc_timeout(100ms), "100000u");
  EXPECT_EQ(format_grpc_timeout(100'000'999ns), "100000u");
  EXPECT_EQ(format_grpc_timeout(1500ms), "1500000u");
  EXPECT_EQ(format_grpc_timeout(100s), "100000m");
  EXPECT_EQ(format_grpc_timeout(100s - 1ns), "99999999u");
  EXPECT_EQ(format_grpc_timeout(kLongest), "2592000S");
  EXPECT_EQ(format_grpc_timeout(kForever), "2562047H");
}

TEST(GrpcTimeout, WhatHasPassedIsWrittenAsZero) {
  EXPECT_EQ(format_grpc_timeout(0s), "0n");
  EXPECT_EQ(format_grpc_timeout(-5s), "0n");
  EXPECT_EQ(format_grpc_timeout(Duration::min()), "0n");
}

// Invariant 2. Trap D2 is the arithmetic around it: what is forwarded is rewritten for each
// attempt.
TEST(GrpcTimeout, TrapD2_WhatIsForwardedNeverSaysMoreThanRemains) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Random random(seed);
    const auto count = static_cast<std::int64_t>(random.bits() >> (1 + random.bits() % 63));
    const Duration remaining{count};
    const std::string text = format_grpc_timeout(remaining);
    ASSERT_LE(text.size(), 9U) << "seed " << seed;
    const auto back = find_grpc_timeout(text);
    ASSERT_TRUE(back) << "seed " << seed << ": " << text;
    ASSERT_LE(*back, remaining) << "seed " << seed << ": " << text;
    if (remaining <= kLongest) {
      // No more is lost than one part in a hundred thousand, since the finest unit is taken.
      ASSERT_LE((remaining - *back).count(), count / 100'000) << "seed " << seed << ": " << text;
      ASSERT_EQ(format_grpc_timeout(*back), text) << "seed " << seed;
    }
  }
}

TEST(RequestDeadline, ReadsTheMillisecondsThatRemain) {
  EXPECT_EQ(find_request_deadline("250", kNow), 250ms);
  EXPECT_EQ(find_request_deadline("0", kNow), 0ms);
  EXPECT_EQ(find_request_deadline("2592000000", kNow), kLongest);
  EXPECT_EQ(find_request_deadline("2592000001", kNow), kLongest);
  EXPECT_EQ(find_request_deadline("99999999999", kNow), kLongest);
}

TEST(RequestDeadline, ALargeValueIsTheTimeItself) {
  EXPECT_EQ(find_request_deadline("1700000000250", kNow), 250ms);
  EXPECT_EQ(find_request_deadline("1700000000000", kNow), 0ms);
  EXPECT_EQ(find_request_deadline("1699999999999", kNow), 0ms);
  EXPECT_EQ(find_request_deadline("100000000000", kNow), 0ms);  // the least: in 1973
  EXPECT_EQ(find_request_deadline("100000000001", UnixTime{100'000'000'000ms}), 1ms);
  EXPECT_EQ(find_request_deadline("18446744073709551615", kNow), kLongest);
  EXPECT_EQ(find_request_deadline("1700000000250", UnixTime::min()), kLongest);
  EXPECT_EQ(find_request_deadline("1700000000250", UnixTime::max()), 0ms);
}

// Invariant 3.
TEST(RequestDeadline, WhatIsMalformedIsNothing) {
  for (const char* value : {"", " ", "-1", "+1", "1.5", "250ms", "2 5", "0x10", "soon",
                            "18446744073709551616", "2023-11-14T22:13:20Z"}) {
    EXPECT_FALSE(find_request_deadline(value, kNow)) << value;
    EXPECT_FALSE(find_envoy_timeout(value)) << value;
  }
}

// Invariant 2.
TEST(RequestDeadline, IsWrittenInWholeMillisecondsRoundedDown) {
  EXPECT_EQ(format_request_deadline(250ms), "250");
  EXPECT_EQ(format_request_deadline(250ms - 1ns), "249");
  EXPECT_EQ(format_request_deadline(999'999ns), "0");
  EXPECT_EQ(format_request_deadline(-1s), "0");
  EXPECT_EQ(format_request_deadline(kForever), "2592000000");
  EXPECT_EQ(format_request_deadline(Duration::min()), "0");
}

// Invariants 1 and 2.
TEST(RequestDeadline, WhatIsWrittenReadsBackAndNeverSaysMore) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    const Duration remaining{static_cast<std::int64_t>(random.bits() >> (1 + random.bits() % 63))};
    const auto back = find_request_deadline(format_request_deadline(remaining), kNow);
    ASSERT_TRUE(back) << "seed " << seed;
    ASSERT_LE(*back, remaining) << "seed " << seed;
    ASSERT_LE(*back, kLongest) << "seed " << seed;
    if (remaining <= kLongest) {
      ASSERT_LT(remaining - *back, 1ms) << "seed " << seed;
    }
  }
}

TEST(EnvoyTimeout, IsMillisecondsAndZeroIsNone) {
  EXPECT_EQ(find_envoy_timeout("15000"), 15s);
  EXPECT_EQ(find_envoy_timeout("1"), 1ms);
  EXPECT_EQ(find_envoy_timeout("1700000000250"), kLongest);
  EXPECT_FALSE(find_envoy_timeout("0"));
  EXPECT_FALSE(find_envoy_timeout("000"));
}

}  // namespace
}  // namespace damper::schedule
