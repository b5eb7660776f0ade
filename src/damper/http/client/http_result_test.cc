#include "damper/http/client/http_result.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(HttpResult, AFailureKeepsTheLastAnswer) {
  Response missing;
  missing.status = 404;
  missing.body = "no such thing";
  const HttpResult failed(Verdict::permanent, failed_http(404).error, 1, missing);
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.failure()->status, 404);
  ASSERT_NE(failed.answer(), nullptr);
  EXPECT_EQ(failed.answer()->body, "no such thing");
  const HttpResult unanswered(Verdict::deadline_passed, std::nullopt, 1, std::nullopt);
  EXPECT_EQ(unanswered.answer(), nullptr);
}

TEST(HttpResult, TheAnswerOfASuccessIsItsValue) {
  Response response;
  response.body = "yes";
  const HttpResult result(response, 2);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.answer()->body, "yes");
  EXPECT_EQ(result.attempts(), 2U);
}

}  // namespace
}  // namespace damper::http
