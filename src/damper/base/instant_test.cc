#include "damper/base/instant.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

using namespace std::chrono_literals;

TEST(Instant, SumsSaturateInsteadOfWrapping) {
  EXPECT_EQ(add(Instant{5ns}, 7ns), Instant{12ns});
  EXPECT_EQ(add(kNever, 1ns), kNever);
  EXPECT_EQ(add(Instant{1ns}, kForever), kNever);
  EXPECT_EQ(add(Instant::min(), Duration{-1}), Instant::min());
}

TEST(Instant, DifferencesSaturateInsteadOfWrapping) {
  EXPECT_EQ(between(Instant{5ns}, Instant{12ns}), 7ns);
  EXPECT_EQ(between(Instant{12ns}, Instant{5ns}), -7ns);
  EXPECT_EQ(between(Instant::min(), Instant::max()), Duration::max());
  EXPECT_EQ(between(Instant::max(), Instant::min()), Duration::min());
}

TEST(Instant, ProductsSaturate) {
  EXPECT_EQ(times(25ms, 4), 100ms);
  EXPECT_EQ(times(25ms, 0), 0ns);
  EXPECT_EQ(times(kForever, 2), kForever);
  EXPECT_EQ(times(kLongest, std::numeric_limits<std::int64_t>::max()), kForever);
}

}  // namespace
}  // namespace damper
