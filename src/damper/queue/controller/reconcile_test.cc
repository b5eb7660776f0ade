#include "damper/queue/controller/reconcile.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <system_error>

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using queue::Finish;

Finish finish(const Reconcile& reconcile) { return reconcile.finish(); }

TEST(Reconcile, SaysDoneRequeueOrTerminal) {
  EXPECT_EQ(finish(done()).how, Finish::How::done);
  EXPECT_EQ(finish(requeue_after(30s)).how, Finish::How::requeue);
  EXPECT_EQ(finish(requeue_after(30s)).after, 30s);
  EXPECT_EQ(finish(terminal("no such template")).how, Finish::How::terminal);
  EXPECT_EQ(finish(terminal("no such template")).why, "no such template");
}

TEST(Reconcile, AFailureIsSaidAsByAnAttempt) {
  EXPECT_EQ(finish(failed(Outcome::timeout)).how, Finish::How::failed);
  EXPECT_EQ(finish(failed(Outcome::timeout)).report.outcome, Outcome::timeout);
  EXPECT_EQ(finish(failed(Outcome::timeout)).why, "timeout");
  EXPECT_EQ(finish(failed_http(429, 2s)).report.outcome, Outcome::overload);
  EXPECT_EQ(finish(failed_http(429, 2s)).report.retry_after, 2s);
  EXPECT_EQ(finish(failed_http(429, 2s)).why, "HTTP 429");
  const auto refused = std::make_error_code(std::errc::connection_refused);
  EXPECT_EQ(finish(failed(refused)).report.outcome, Outcome::unavailable);
  EXPECT_EQ(finish(failed(refused)).why, refused.message());
  EXPECT_EQ(finish(Reconcile(failed(Outcome::transient)).because("the disk is full")).why,
            "the disk is full");
}

TEST(Reconcile, AResultOfAnAttemptCanBePassedOn) {
  const auto attempt = []() -> Result<int> { return failed(Outcome::conflict); };
  const auto reconcile = [&]() -> Reconcile {
    auto result = attempt();
    if (!result) return unexpected(result.error());
    return done();
  };
  EXPECT_EQ(finish(reconcile()).report.outcome, Outcome::conflict);
}

TEST(Reconcile, AGuardedCallIsTheFailureOfItsLastAttempt) {
  Failure failure = failed_http(503, 9s).error;
  const Finish layered = finish(failed(CallResult<int>(Verdict::layered, failure, 1)));
  EXPECT_EQ(layered.report.outcome, Outcome::transient);
  EXPECT_EQ(layered.report.retry_after, 9s);
  EXPECT_EQ(layered.why, "layered: HTTP 503");
  const Finish stopped = finish(failed(CallResult<int>(Verdict::cancelled, failure, 1)));
  EXPECT_EQ(stopped.report.outcome, Outcome::cancelled);
}

TEST(Reconcile, AGuardedCallThatSentNothingIsWhatItsVerdictSays) {
  const auto outcome = [](Verdict verdict) {
    return finish(failed(CallResult<int>(verdict, std::nullopt, 0))).report.outcome;
  };
  EXPECT_EQ(outcome(Verdict::breaker_open), Outcome::overload);
  EXPECT_EQ(outcome(Verdict::throttled), Outcome::overload);
  EXPECT_EQ(outcome(Verdict::limited), Outcome::overload);
  EXPECT_EQ(outcome(Verdict::shed), Outcome::overload);
  EXPECT_EQ(outcome(Verdict::overload), Outcome::overload);
  EXPECT_EQ(outcome(Verdict::deadline_too_close), Outcome::timeout);
  EXPECT_EQ(outcome(Verdict::deadline_passed), Outcome::timeout);
  EXPECT_EQ(outcome(Verdict::cancelled), Outcome::cancelled);
  EXPECT_EQ(outcome(Verdict::permanent), Outcome::permanent);
  EXPECT_EQ(outcome(Verdict::conflict), Outcome::conflict);
  EXPECT_EQ(outcome(Verdict::budget_spent), Outcome::transient);
  EXPECT_EQ(finish(failed(CallResult<int>(Verdict::budget_spent, std::nullopt, 0))).why,
            "budget_spent");
  EXPECT_DEATH((void)failed(CallResult<int>(7, 1)), "check failed");
}

TEST(Reconcile, AnExceptionIsTransientAndASystemErrorGoesByItsCode) {
  const auto thrown = [](const auto& error) {
    try {
      throw error;
    } catch (...) {
      return finish(queue::failed_by_exception());
    }
  };
  const Finish bug = thrown(std::runtime_error("no such invoice"));
  EXPECT_EQ(bug.how, Finish::How::failed);
  EXPECT_EQ(bug.report.outcome, Outcome::transient);
  EXPECT_EQ(bug.why, "no such invoice");
  EXPECT_EQ(thrown(std::system_error(std::make_error_code(std::errc::timed_out))).report.outcome,
            Outcome::timeout);
  EXPECT_EQ(
      thrown(std::system_error(std::make_error_code(std::errc::permission_denied))).report.outcome,
      Outcome::permanent);
  const Finish odd = thrown(42);
  EXPECT_EQ(odd.report.outcome, Outcome::transient);
  EXPECT_EQ(odd.why, "an exception that is not a std::exception");
}

}  // namespace
}  // namespace damper
