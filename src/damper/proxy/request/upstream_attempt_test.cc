#include "damper/proxy/request/upstream_attempt.h"

#include <gtest/gtest.h>

#include <array>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using http::Field;

constexpr UnixTime kNow{};
const policy::RetryOn kDefault;

policy::RetryOn only(policy::RetryOn::Token token) {
  policy::RetryOn retry_on;
  retry_on.set_tokens(1U << static_cast<unsigned>(token));
  return retry_on;
}

TEST(AnswerReport, AStatusOfHttpIsClassified) {
  EXPECT_EQ(report_of_head({.status = 200}, kDefault, kNow).outcome, Outcome::success);
  EXPECT_EQ(report_of_head({.status = 304}, kDefault, kNow).outcome, Outcome::success);
  EXPECT_EQ(report_of_head({.status = 503}, kDefault, kNow).outcome, Outcome::transient);
  EXPECT_EQ(report_of_head({.status = 404}, kDefault, kNow).outcome, Outcome::permanent);
  EXPECT_FALSE(report_of_head({.status = 503}, kDefault, kNow).retry_on_excluded);
}

TEST(AnswerReport, TheServersWordAndThePolicysAreInIt) {
  const std::array fields = {Field{"Retry-After", "3"}};
  const auto report = report_of_head({.status = 429, .fields = fields}, kDefault, kNow);
  EXPECT_EQ(report.outcome, Outcome::overload);
  EXPECT_EQ(report.retry_after, 3s);
  const policy::RetryOn gateway = only(policy::RetryOn::Token::gateway_error);
  EXPECT_TRUE(report_of_head({.status = 500}, gateway, kNow).retry_on_excluded);
  EXPECT_FALSE(report_of_head({.status = 503}, gateway, kNow).retry_on_excluded);
}

TEST(AnswerReport, TrailersOnlyOfGrpcAreReadInTheHead) {
  const std::array fields = {Field{"content-type", "application/grpc"}, Field{"grpc-status", "14"},
                             Field{"grpc-retry-pushback-ms", "-1"}};
  const auto report = report_of_head({.status = 200, .fields = fields}, kDefault, kNow);
  EXPECT_EQ(report.outcome, Outcome::transient);
  EXPECT_TRUE(report.do_not_retry);
  const std::array plain = {Field{"grpc-status", "14"}};
  EXPECT_EQ(report_of_head({.status = 200, .fields = plain}, kDefault, kNow).outcome,
            Outcome::success);
}

TEST(AnswerReport, TrapP2_TheTrailersOfAWholeAnswerAreRead) {
  const std::array good = {Field{"grpc-status", "0"}};
  const std::array bad = {Field{"grpc-status", "14"}};
  const std::array odd = {Field{"grpc-status", "14x"}};
  EXPECT_EQ(report_of_trailers({}, good, kDefault).outcome, Outcome::success);
  EXPECT_EQ(report_of_trailers({}, bad, kDefault).outcome, Outcome::transient);
  EXPECT_EQ(report_of_trailers({}, odd, kDefault).outcome, Outcome::permanent);
  EXPECT_EQ(report_of_trailers({}, {}, kDefault).outcome, Outcome::success);
  EXPECT_TRUE(
      report_of_trailers({}, bad, only(policy::RetryOn::Token::gateway_error)).retry_on_excluded);
  EXPECT_EQ(report_of_trailers({.outcome = Outcome::permanent}, good, kDefault).outcome,
            Outcome::permanent);
}

}  // namespace
}  // namespace damper::proxy
