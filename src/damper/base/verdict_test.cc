#include "damper/base/verdict.h"

#include <gtest/gtest.h>

#include <set>

namespace damper {
namespace {

TEST(Verdict, TheWordIsTheEnumerator) {
  EXPECT_EQ(name(Verdict::none), "none");
  EXPECT_EQ(name(Verdict::not_retryable), "not_retryable");
  EXPECT_EQ(name(Verdict::deadline_passed), "deadline_passed");
  EXPECT_EQ(name(Verdict::budget_spent), "budget_spent");
  EXPECT_EQ(name(Verdict::cancelled), "cancelled");
}

TEST(Verdict, EveryWordIsDifferent) {
  EXPECT_EQ(std::set(kVerdictNames.begin(), kVerdictNames.end()).size(), kVerdictNames.size());
}

}  // namespace
}  // namespace damper
