#include "damper/config/error.h"

#include <gtest/gtest.h>

namespace damper::config {
namespace {

TEST(Error, IsPrintedWithItsPlaceAsCompilersDo) {
  EXPECT_EQ(to_string(Error{"p.yaml", {3, 14}, "is wrong"}), "p.yaml:3:14: is wrong");
}

TEST(Error, AboutTheWholeFileHasNoPlace) {
  EXPECT_EQ(to_string(Error{"p.yaml", {}, "is wrong"}), "p.yaml: is wrong");
}

}  // namespace
}  // namespace damper::config
