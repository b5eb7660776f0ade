#include "damper/queue/work_queue/finish.h"

#include <gtest/gtest.h>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using How = Finish::How;

TEST(Finish, DoneAndRequeueAreSuccessesWhateverElseIsSaid) {
  EXPECT_EQ(report_of({}, false).outcome, Outcome::success);
  const Finish requeue{
      .how = How::requeue, .after = 3s, .report = {.outcome = Outcome::overload}, .why = "x"};
  EXPECT_EQ(report_of(requeue, false).outcome, Outcome::success);
}

TEST(Finish, TerminalIsPermanentAndAFailureIsWhatItsReportSays) {
  EXPECT_EQ(report_of({.how = How::terminal}, false).outcome, Outcome::permanent);
  const decide::Report report = report_of(
      {.how = How::failed, .report = {.outcome = Outcome::overload, .retry_after = 7s}}, false);
  EXPECT_EQ(report.outcome, Outcome::overload);
  EXPECT_EQ(report.retry_after, 7s);
}

TEST(Finish, WhoCallsASuccessAFailureGetsAPermanentOne) {
  EXPECT_EQ(report_of({.how = How::failed}, false).outcome, Outcome::permanent);
}

TEST(Finish, ACancelledRunTimedOutUnlessTheControllerStops) {
  const Finish cancelled{.how = How::failed, .report = {.outcome = Outcome::cancelled}};
  EXPECT_EQ(report_of(cancelled, false).outcome, Outcome::timeout);
  EXPECT_EQ(report_of(cancelled, true).outcome, Outcome::cancelled);
}

TEST(Finish, ATextIsCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abc", 2), "ab");
  EXPECT_EQ(shortened("a\xC3\xA9", 2), "a");                         // Within an e with an accent.
  EXPECT_EQ(shortened("\xF0\x9F\x94\xA5x", 4), "\xF0\x9F\x94\xA5");  // After one of four bytes.
  EXPECT_EQ(shortened("\xF0\x9F\x94\xA5x", 3), "");
  EXPECT_EQ(shortened("\x80\x80\x80", 2), "");  // No beginning anywhere: nothing is left.
}

TEST(Finish, EachHasAName) {
  EXPECT_EQ(name(How::done), "done");
  EXPECT_EQ(name(How::requeue), "requeue");
  EXPECT_EQ(name(How::failed), "failed");
  EXPECT_EQ(name(How::terminal), "terminal");
}

}  // namespace
}  // namespace damper::queue
