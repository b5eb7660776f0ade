#include "damper/policy/file/raw_value.h"

#include <gtest/gtest.h>

#include "damper/admit/retry_budget.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

TEST(RawValue, EveryTypeComesBackFromItsRawValue) {
  EXPECT_EQ(to_raw(Duration(2ms)), 2'000'000);
  EXPECT_EQ(from_raw<Duration>(2'000'000), 2ms);
  EXPECT_EQ(to_raw(Percent(10)), 1000);
  EXPECT_EQ(from_raw<Percent>(1050), Percent::from_hundredths(1050));
  EXPECT_EQ(to_raw(admit::DepositOn::success), 1);
  EXPECT_EQ(from_raw<admit::DepositOn>(1), admit::DepositOn::success);
  EXPECT_EQ(from_raw<std::uint16_t>(to_raw(std::uint16_t{65535})), 65535);
  EXPECT_TRUE(from_raw<bool>(to_raw(true)));
}

}  // namespace
}  // namespace damper::policy
