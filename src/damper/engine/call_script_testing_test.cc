#include "damper/engine/call_script_testing.h"

#include <gtest/gtest.h>

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

TEST(CallScript, ALetterIsAnAttempt) {
  const auto script = parse_script(".tToucp");
  ASSERT_EQ(script.size(), 7u);
  for (std::size_t i = 0; i < script.size(); ++i) {
    EXPECT_EQ(script[i].report.outcome, static_cast<Outcome>(i));
    EXPECT_EQ(script[i].takes, 0ms);
    EXPECT_FALSE(script[i].report.server_said_when());
    EXPECT_FALSE(script[i].report.do_not_retry);
  }
}

TEST(CallScript, AnAttemptTakesTimeAndTheServerMaySayWhenOrNotAgain) {
  const auto script = parse_script("t15o+30T7+0!");
  ASSERT_EQ(script.size(), 3u);
  EXPECT_EQ(script[0].takes, 15ms);
  EXPECT_EQ(script[1].report.retry_after, 30ms);
  EXPECT_EQ(script[2].takes, 7ms);
  EXPECT_EQ(script[2].report.retry_after, 0ms);
  EXPECT_TRUE(script[2].report.do_not_retry);
}

TEST(CallScript, ATraceIsWordsInOrder) {
  Trace trace;
  trace.sent(false);
  trace.waited(12ms + 999us);
  trace.sent(true);
  trace.cancelled(1);
  trace.ended("success");
  EXPECT_EQ(trace.text(), "send wait12 hedge cancel1 success");
}

}  // namespace
}  // namespace damper::engine
