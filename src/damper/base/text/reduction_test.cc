#include "damper/base/text/reduction.h"

#include <gtest/gtest.h>

#include <cmath>

namespace damper::text {
namespace {

using Values = std::vector<double>;
const double kNone = std::nan("");

TEST(Reduction, ManyValuesAreReduced) {
  EXPECT_EQ(reduced(Values{1, 5, 2, 4, 9}, 3, Reduction::greatest), (Values{5, 4, 9}));
  EXPECT_EQ(reduced(Values{1, 5, 2, 4, 9}, 3, Reduction::mean), (Values{3, 3, 9}));
  EXPECT_EQ(reduced(Values{1, 5, 2}, 3, Reduction::mean), (Values{1, 5, 2}));
  EXPECT_EQ(reduced(Values{kNone, 5, -2, kNone}, 2, Reduction::mean), (Values{5, -2}));
  EXPECT_EQ(reduced(Values{kNone, -5}, 1, Reduction::greatest), (Values{-5}));
  EXPECT_TRUE(std::isnan(reduced(Values{kNone, kNone}, 1, Reduction::mean)[0]));
  EXPECT_EQ(reduced(Values{}, 3, Reduction::mean), Values{});
}

}  // namespace
}  // namespace damper::text
