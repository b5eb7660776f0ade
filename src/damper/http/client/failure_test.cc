#include "damper/http/client/http_result.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

using decide::Outcome;
using std::chrono::seconds;

constexpr UnixTime kNow{seconds(784'111'777)};  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(Failure, ACloseReasonIsAnErrorCode) {
  const Failure failure = failure_of(CloseReason::connect_refused, false);
  EXPECT_EQ(failure.error, CloseReason::connect_refused);
  EXPECT_NE(failure.error, CloseReason::finished);
  EXPECT_TRUE(static_cast<bool>(make_error_code(CloseReason::finished)));  // An error too.
  EXPECT_EQ(failure.error.message(), "connect_refused");
  EXPECT_STREQ(failure.error.category().name(), "damper.http");
  EXPECT_EQ(make_error_code(CloseReason::cancelled).message(), "cancelled");
  EXPECT_EQ(std::error_code(77, close_category()).message(), "unknown");
}

TEST(Failure, WhatNeverLeftIsUnavailable) {
  EXPECT_EQ(failure_of(CloseReason::refused, false).report.outcome, Outcome::unavailable);
  EXPECT_EQ(failure_of(CloseReason::handshake_failed, false).report.outcome, Outcome::unavailable);
  EXPECT_EQ(failure_of(CloseReason::reset, false).report.outcome, Outcome::transient);
  EXPECT_EQ(failure_of(CloseReason::too_many, false).report.outcome, Outcome::overload);
}

TEST(Failure, WhatIsDecidedLocallyIsNoVerdictOnTheTarget) {
  for (std::size_t i = 0; i < kCloseReasonNames.size(); ++i) {
    const auto reason = static_cast<CloseReason>(i);
    const bool local =
        reason == CloseReason::address_refused || reason == CloseReason::out_of_descriptors;
    EXPECT_EQ(failure_of(reason, false).report.unknown, local) << name(reason);
  }
  EXPECT_EQ(failure_of(CloseReason::out_of_descriptors, false).report.outcome, Outcome::overload);
}

TEST(Failure, AnAnswerSaysWhenToComeBack) {
  Response response;
  response.status = 503;
  response.fields.add("Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT");
  EXPECT_EQ(report_of(response, kNow).retry_after, seconds(3));
  EXPECT_EQ(report_of(response, kNow).outcome, Outcome::transient);
  response.fields.add("RateLimit-Reset", "9");  // Counts beside a refusal for rate alone.
  EXPECT_EQ(report_of(response, kNow).retry_after, seconds(3));
  response.status = 429;
  EXPECT_EQ(report_of(response, kNow).retry_after, seconds(9));
  response.status = 200;
  EXPECT_FALSE(report_of(response, kNow).server_said_when());
}

TEST(HttpFailure, AKeyThatIsUnderWayIsAskedForAgainWhenTheServerSays) {
  const Response conflict{.status = 409, .fields = {{"retry-after", "1"}}};
  EXPECT_EQ(report_of(conflict, UnixTime{}).outcome, decide::Outcome::conflict);
  const Response under_way{.status = 409,
                           .fields = {{"retry-after", "1"}, {"damper-idempotency", "under_way"}}};
  EXPECT_EQ(report_of(under_way, UnixTime{}).outcome, decide::Outcome::overload);
  EXPECT_EQ(report_of(under_way, UnixTime{}).retry_after, std::chrono::seconds(1));
}

}  // namespace
}  // namespace damper::http
