#include "damper/policy/lint/lint_rules.h"

#include <gtest/gtest.h>

#include <limits>

namespace damper::policy {
namespace {

TEST(LintRules, NumbersAreRoundedAndEndWithoutZeros) {
  EXPECT_EQ(decimal(272.727, 1), "272.7");
  EXPECT_EQ(decimal(150.0, 1), "150");
  EXPECT_EQ(decimal(0.04, 1), "0");
  EXPECT_EQ(decimal(100, 0), "100");
  EXPECT_EQ(attempts_text(1.1 * 1.1 * 1.1), "1.331");
  EXPECT_EQ(attempts_text(1 + 0.1), "1.1");
  EXPECT_EQ(rate_text(300.0 / 1.1), "272.7/s");
  EXPECT_EQ(decimal(std::numeric_limits<double>::max(), 3).size(), 309u);
}

}  // namespace
}  // namespace damper::policy
