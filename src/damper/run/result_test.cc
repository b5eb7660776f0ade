#include "damper/run/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

TEST(Result, AFailureSaysHowItWent) {
  EXPECT_EQ(failed(Outcome::transient).error.report.outcome, Outcome::transient);
  const Failure refused = failed(std::make_error_code(std::errc::connection_refused)).error;
  EXPECT_EQ(refused.report.outcome, Outcome::unavailable);
  EXPECT_EQ(refused.error, std::errc::connection_refused);
  const Failure busy = failed_http(429, 3s).error;
  EXPECT_EQ(busy.report.outcome, Outcome::overload);
  EXPECT_EQ(busy.report.retry_after, 3s);
  EXPECT_EQ(busy.status, 429);
  EXPECT_FALSE(failed_http(503).error.report.server_said_when());
}

TEST(Result, AFailureIsNeverASuccess) {
  EXPECT_EQ(failed(Outcome::success).error.report.outcome, Outcome::permanent);
  EXPECT_EQ(failed(std::error_code{}).error.report.outcome, Outcome::permanent);
  EXPECT_EQ(failed_http(200).error.report.outcome, Outcome::permanent);
}

Failure thrown(const auto& exception) {
  try {
    throw exception;
  } catch (...) {
    return failed_by_exception().error;
  }
}

TEST(Result, AnExceptionIsAFailure) {
  const Failure reset = thrown(std::system_error(ECONNRESET, std::system_category()));
  EXPECT_EQ(reset.report.outcome, Outcome::transient);
  EXPECT_EQ(reset.error.value(), ECONNRESET);
  EXPECT_TRUE(reset.exception);
  EXPECT_EQ(thrown(std::logic_error("no")).report.outcome, Outcome::permanent);
  EXPECT_EQ(thrown(42).report.outcome, Outcome::permanent);
  EXPECT_TRUE(thrown(42).report.unknown);
  EXPECT_FALSE(reset.report.unknown);
}

TEST(CallResult, HoldsAValueOrAVerdict) {
  CallResult<int> good(7, 2);
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.value(), 7);
  EXPECT_EQ(good.verdict(), Verdict::success);
  EXPECT_EQ(good.attempts(), 2u);
  EXPECT_EQ(good.failure(), nullptr);

  CallResult<int> bad(Verdict::attempts_spent, failed_http(503).error, 3);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.failure()->status, 503);
  try {
    (void)bad.value();
    FAIL() << "nothing was thrown";
  } catch (const Refused& refused) {
    EXPECT_EQ(refused.verdict(), Verdict::attempts_spent);
    EXPECT_STREQ(refused.what(), "damper: attempts_spent");
  }
}

TEST(CallResult, ThrowsWhatTheOperationThrew) {
  CallResult<int> bad(Verdict::permanent, thrown(std::logic_error("no")), 1);
  EXPECT_THROW((void)bad.value(), std::logic_error);
}

TEST(CallResult, GivesAMoveOnlyValueAway) {
  const auto made = [] { return CallResult<std::unique_ptr<int>>(std::make_unique<int>(7), 1); };
  std::unique_ptr<int> value = made().value();
  EXPECT_EQ(*value, 7);
  CallResult<std::unique_ptr<int>> kept = made();
  value = std::move(kept).value();
  EXPECT_EQ(*value, 7);
  CallResult<std::unique_ptr<int>> other = made();
  value = *std::move(other);
  EXPECT_EQ(*value, 7);
  EXPECT_EQ(*made().value_or(nullptr), 7);
  CallResult<std::unique_ptr<int>> bad(Verdict::permanent, std::nullopt, 1);
  EXPECT_EQ(std::move(bad).value_or(nullptr), nullptr);
  EXPECT_THROW((void)std::move(bad).value(), Refused);
}

TEST(CallResult, AnLvalueKeepsItsValue) {
  CallResult<std::string> good("seven", 1);
  const std::string copy = good.value();
  const std::string again = *good;
  EXPECT_EQ(good.value(), "seven");
  EXPECT_EQ(copy + again, "sevenseven");
  good.value() = "eight";
  EXPECT_EQ(*good, "eight");
}

TEST(CallResult, IsReadWhenItIsConst) {
  const CallResult<std::string> good("seven", 1);
  EXPECT_EQ(good->size(), 5u);
  EXPECT_EQ(good.value(), "seven");
  EXPECT_EQ(good.value_or("none"), "seven");
  const CallResult<std::string> bad(Verdict::permanent, std::nullopt, 1);
  EXPECT_EQ(bad.value_or("none"), "none");
  EXPECT_THROW((void)bad.value(), Refused);
}

TEST(CallResultDeathTest, ThereIsNothingToReadWithoutAValue) {
  CallResult<int> bad(Verdict::permanent, std::nullopt, 1);
  EXPECT_DEATH((void)*bad, "has_value");
}

}  // namespace
}  // namespace damper
