#include "damper/engine/step.h"

#include <gtest/gtest.h>

namespace damper::engine {
namespace {

TEST(Step, SaysNothingToDoUnlessItIsTold) {
  const Step step;
  EXPECT_FALSE(step.over());
  EXPECT_FALSE(step.sends);
  EXPECT_EQ(step.cancels, 0);
  EXPECT_EQ(step.wake, kNever);
}

TEST(Step, IsOverWithAnyVerdict) {
  EXPECT_TRUE(Step{.verdict = Verdict::success}.over());
  EXPECT_TRUE(Step{.verdict = Verdict::cancelled}.over());
}

}  // namespace
}  // namespace damper::engine
