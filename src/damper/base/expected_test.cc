#include "damper/base/expected.h"

#include <gtest/gtest.h>

#include <memory>

namespace damper {
namespace {

Expected<int> half(int number) {
  if (number % 2 != 0) return unexpected("odd");
  return number / 2;
}

TEST(Expected, HoldsTheValueOrTheReason) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error(), "odd");
}

TEST(Expected, TellsValueAndErrorOfOneTypeApart) {
  const Expected<std::string, std::string> value("same");
  const Expected<std::string, std::string> error(unexpected(std::string("same")));
  EXPECT_TRUE(value);
  EXPECT_FALSE(error);
}

TEST(Expected, MovesItsValueOut) {
  Expected<std::unique_ptr<int>> boxed(std::make_unique<int>(7));
  EXPECT_EQ(*std::move(*std::move(boxed)), 7);
}

TEST(ExpectedDeathTest, TakingTheValueOfAnErrorIsABug) {
  EXPECT_DEATH((void)*half(3), "check failed");
}

}  // namespace
}  // namespace damper
