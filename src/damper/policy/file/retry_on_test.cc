#include "damper/policy/file/retry_on.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace damper::policy {
namespace {

using Token = RetryOn::Token;
using decide::Outcome;
using decide::OutcomeSet;

RetryOn of(std::initializer_list<Token> tokens, std::initializer_list<std::size_t> statuses = {}) {
  std::uint32_t bits = 0;
  for (const Token token : tokens) bits |= 1U << static_cast<unsigned>(token);
  RetryOn::Statuses set;
  for (const std::size_t status : statuses) set.set(status);
  RetryOn retry_on;
  retry_on.set_tokens(bits);
  retry_on.set_statuses(set);
  return retry_on;
}

TEST(RetryOn, ByDefaultNothingIsExcluded) {  // Invariant (1).
  const RetryOn retry_on;
  EXPECT_TRUE(retry_on.has(Token::default_));
  EXPECT_EQ(retry_on.outcomes(), decide::kRetryableByDefault);
  EXPECT_FALSE(retry_on.excludes_http(500));
  EXPECT_FALSE(retry_on.excludes_http(-1));
  EXPECT_FALSE(retry_on.excludes_grpc(14));
}

TEST(RetryOn, AnUpstreamThatDoesNotAnswerIsA5xxAGatewayErrorAndAReset) {
  for (const Token token : {Token::any_5xx, Token::gateway_error, Token::reset}) {
    EXPECT_EQ(of({token}).outcomes(), decide::kRetryableByDefault);
  }
}

TEST(RetryOn, TokensSelectStatuses) {
  EXPECT_FALSE(of({Token::any_5xx}).excludes_http(500));
  EXPECT_FALSE(of({Token::any_5xx}).excludes_http(599));
  EXPECT_TRUE(of({Token::any_5xx}).excludes_http(499));
  EXPECT_TRUE(of({Token::any_5xx}).excludes_http(600));
  EXPECT_TRUE(of({Token::gateway_error}).excludes_http(500));
  EXPECT_TRUE(of({Token::gateway_error}).excludes_http(501));
  EXPECT_FALSE(of({Token::gateway_error}).excludes_http(502));
  EXPECT_FALSE(of({Token::gateway_error}).excludes_http(504));
  EXPECT_TRUE(of({Token::gateway_error}).excludes_http(505));
  EXPECT_TRUE(of({Token::reset}).excludes_http(503));
  EXPECT_TRUE(of({Token::reset}).excludes_http(0));
  EXPECT_TRUE(of({}).excludes_http(503));
}

TEST(RetryOn, ListedStatusesCountWithTheirTokenOnly) {
  EXPECT_FALSE(of({Token::retriable_status_codes}, {408}).excludes_http(408));
  EXPECT_TRUE(of({Token::retriable_status_codes}, {408}).excludes_http(409));
  EXPECT_TRUE(of({Token::reset}, {408}).excludes_http(408));
  EXPECT_TRUE(of({Token::retriable_status_codes}, {408}).excludes_http(-1));
  EXPECT_TRUE(of({Token::retriable_status_codes}, {408}).excludes_http(100'000));
}

TEST(RetryOn, TokensSelectGrpcCodes) {
  EXPECT_FALSE(of({Token::unavailable}).excludes_grpc(14));
  EXPECT_TRUE(of({Token::unavailable}).excludes_grpc(13));
  EXPECT_FALSE(of({Token::internal}).excludes_grpc(13));
  EXPECT_FALSE(of({Token::cancelled}).excludes_grpc(1));
  EXPECT_FALSE(of({Token::deadline_exceeded}).excludes_grpc(4));
  EXPECT_FALSE(of({Token::resource_exhausted}).excludes_grpc(8));
  EXPECT_TRUE(of({Token::any_5xx}).excludes_grpc(14));
  EXPECT_TRUE(of({Token::any_5xx}).excludes_grpc(-1));
}

TEST(RetryOn, InternalIsTransientToAPolicyThatNamesIt) {
  EXPECT_EQ(of({Token::internal}).outcome_of_grpc(13), Outcome::transient);
  EXPECT_EQ(of({Token::unavailable}).outcome_of_grpc(13), Outcome::permanent);
  EXPECT_EQ(RetryOn().outcome_of_grpc(13), Outcome::permanent);
  EXPECT_EQ(of({Token::internal}).outcome_of_grpc(14), Outcome::transient);
  EXPECT_EQ(of({Token::internal}).outcome_of_grpc(8), Outcome::overload);
}

TEST(RetryOn, OutcomesAreTheUnionOfTheTokens) {
  EXPECT_EQ(of({}).outcomes(), OutcomeSet{});
  EXPECT_EQ(of({Token::connect_failure}).outcomes(), (OutcomeSet{Outcome::unavailable}));
  EXPECT_EQ(of({Token::refused_stream}).outcomes(), (OutcomeSet{Outcome::unavailable}));
  EXPECT_EQ(of({Token::reset_before_request}).outcomes(), (OutcomeSet{Outcome::unavailable}));
  EXPECT_EQ(of({Token::internal}).outcomes(), (OutcomeSet{Outcome::transient}));
  EXPECT_EQ(of({Token::retriable_status_codes}).outcomes(), (OutcomeSet{Outcome::transient}));
  EXPECT_EQ(of({Token::internal, Token::connect_failure}).outcomes(),
            (OutcomeSet{Outcome::transient, Outcome::unavailable}));
  EXPECT_EQ(of({Token::unavailable}).outcomes(),
            (OutcomeSet{Outcome::transient, Outcome::unavailable}));
}

// Invariant (2), over every set of tokens.
TEST(RetryOn, NoTokenMakesAConflictAnOverloadOrAPermanentErrorRetryable) {
  for (std::uint32_t bits = 0; bits < 1U << RetryOn::kNames.size(); ++bits) {
    RetryOn retry_on;
    retry_on.set_tokens(bits);
    const OutcomeSet outcomes = retry_on.outcomes();
    for (const Outcome outcome : {Outcome::success, Outcome::overload, Outcome::conflict,
                                  Outcome::permanent, Outcome::cancelled}) {
      ASSERT_FALSE(outcomes.contains(outcome)) << bits << ' ' << name(outcome);
    }
  }
}

TEST(RetryOn, WhatIsRefusedSaysWhy) {
  std::string refused;
  for (std::size_t i = 0; i < RetryOn::kNames.size(); ++i) {
    if (!refusal(static_cast<Token>(i)).empty()) refused += std::string(RetryOn::kNames[i]) + ' ';
  }
  EXPECT_EQ(refused,
            "retriable-4xx envoy-ratelimited cancelled deadline-exceeded resource-exhausted ");
  std::string allowed;
  for (int status = 400; status <= 599; ++status) {
    if (refusal_of_status(status).empty() && (status < 502 || status > 598)) {
      allowed += std::to_string(status) + ' ';
    }
  }
  EXPECT_EQ(allowed, "408 425 500 599 ");
  EXPECT_NE(refusal_of_status(409), refusal_of_status(404));
  EXPECT_EQ(refusal_of_status(412), refusal_of_status(409));
  EXPECT_EQ(refusal_of_status(429), refusal(Token::resource_exhausted));
}

}  // namespace
}  // namespace damper::policy
