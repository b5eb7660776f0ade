#include "damper/base/check.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace damper {
namespace {

TEST(Check, ATrueConditionCostsNothingAndSaysNothing) {
  int evaluated = 0;
  DAMPER_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, AFalseConditionStopsTheProgramAndNamesThePlace) {
  EXPECT_DEATH(DAMPER_CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3 at .*check_test.cc:[0-9]+");
}

TEST(CheckDeathTest, BadOptionsStopTheProgramWithTheSentenceAboutThem) {
  DAMPER_CHECK_VALID(std::optional<std::string>());
  EXPECT_DEATH(DAMPER_CHECK_VALID(std::optional<std::string>("reserve is -1")),
               "check failed: reserve is -1 at .*check_test.cc:[0-9]+");
}

}  // namespace
}  // namespace damper
