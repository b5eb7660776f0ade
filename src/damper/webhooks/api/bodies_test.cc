#include "damper/webhooks/api/bodies.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace damper::webhooks {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

template <class T>
[[nodiscard]] std::string error_of(const Expected<T, ApiError>& result) {
  return result ? "none" : result.error().sentence;
}

TEST(Bodies, AMessageHasATypeAndAPayload) {
  const std::string body = R"({"type":"a.b","payload": [1, 2 ],"channel":"eu","ordering_key":"7"})";
  const auto message = parse_message(body, 1024);
  ASSERT_TRUE(message) << message.error().sentence;
  EXPECT_EQ(message->type, "a.b");
  EXPECT_EQ(message->payload, "[1, 2 ]");
  EXPECT_EQ(message->channel, "eu");
  EXPECT_EQ(message->ordering_key, "7");
}

TEST(Bodies, TheFirstErrorOfAMessageNamesTheField) {
  const auto error = [](const char* body) { return error_of(parse_message(body, 1024)); };
  EXPECT_EQ(error(R"({"payload":1})"), "type is missing");
  EXPECT_EQ(error(R"({"type":"a"})"), "payload is missing");
  EXPECT_EQ(error(""), "type is missing");
  EXPECT_EQ(error(R"({"type":1,"payload":1})"), "type must be a string");
  EXPECT_TRUE(error(R"({"type":"a b","payload":1})").starts_with("type is \"a b\""));
  EXPECT_TRUE(error(R"({"type":"a","payload":1,"channel":""})").starts_with("channel is"));
  EXPECT_TRUE(error(R"({"type":"a","payload":1,"ordering_key":""})").starts_with("ordering_key"));
  EXPECT_TRUE(
      error(R"({"type":"a","payload":1,"idempotency_key":"a b"})").starts_with("an idempotency"));
  EXPECT_TRUE(error(R"({"type":"a","payload":{]})").starts_with("the body is not valid JSON"));
  EXPECT_EQ(error("[]"), "the body must be a JSON object");
}

TEST(Bodies, ANewEndpointHasASecretThatIsGivenOrMade) {
  EndpointConfig config;
  EXPECT_FALSE(apply_new_endpoint(R"({"url":"http://a.example/"})", nullptr, config));
  ASSERT_EQ(config.secrets.size(), 1U);
  EXPECT_TRUE(config.secrets[0].key.starts_with("whsec_"));
  const std::string given = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  EXPECT_FALSE(apply_new_endpoint(R"({"url":"http://a.example/","secret":")" + given + "\"}",
                                  nullptr, config));
  EXPECT_EQ(config.secrets[0].key, given);
  EXPECT_TRUE(apply_new_endpoint(R"({"secret":"x"})", nullptr, config));
}

TEST(Bodies, AnEnabledEndpointHasNoReasonToBeDisabled) {
  EndpointConfig config;
  ASSERT_FALSE(apply_new_endpoint(
      R"({"url":"http://a.example/","disabled":true,"disabled_reason":"410 Gone"})", nullptr,
      config));
  EXPECT_EQ(config.disabled_reason, "410 Gone");
  ASSERT_FALSE(apply_endpoint_change(R"({"disabled":false})", nullptr, config));
  EXPECT_EQ(config.disabled_reason, "");
}

TEST(Bodies, ARotationKeepsTheOldSecretsForTheGrace) {
  EndpointConfig config;
  config.secrets = {{.key = "a"}, {.key = "b", .expires = UnixTime{seconds(150)}}};
  const UnixTime now{seconds(100)};
  rotate(config, {.grace = seconds(100), .secret = "c"}, now);
  ASSERT_EQ(config.secrets.size(), 3U);
  EXPECT_EQ(config.secrets[0], (EndpointSecret{.key = "c"}));
  EXPECT_EQ(config.secrets[1].expires, UnixTime{seconds(200)});
  EXPECT_EQ(config.secrets[2].expires, UnixTime{seconds(150)});  // not longer than before
  rotate(config, {.grace = hours(1), .secret = "d"}, UnixTime{seconds(150)});
  ASSERT_EQ(config.secrets.size(), 3U);  // "b" has expired.
  EXPECT_EQ(config.secrets[2].key, "a");
  rotate(config, {.grace = Duration{0}, .secret = "e"}, now);
  EXPECT_EQ(config.secrets.size(), 1U);
}

TEST(Bodies, ARotationHasADayOfGraceByDefault) {
  const auto rotation = parse_rotation("");
  ASSERT_TRUE(rotation);
  EXPECT_EQ(rotation->grace, hours(24));
  EXPECT_TRUE(rotation->secret.starts_with("whsec_"));
  EXPECT_EQ(error_of(parse_rotation(R"({"grace":24})")),
            "grace must be a duration such as \"15s\"");
}

TEST(Bodies, ARedriveHasAFilterAndARate) {
  const auto filter = parse_redrive(
      R"({"message":"msg_0000000000010","from":"1970-01-01T00:00:01Z","dry_run":true})", Id{7});
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->endpoint, Id{7});
  EXPECT_EQ(filter->message, Id{32});
  EXPECT_EQ(filter->from, UnixTime{milliseconds(1000)});
  EXPECT_TRUE(filter->dry_run);
  EXPECT_EQ(filter->rate_per_second, 100);
  EXPECT_TRUE(parse_redrive("", Id{7}));
  EXPECT_TRUE(
      error_of(parse_redrive(R"({"until":"today"})", Id{7})).starts_with("until is invalid"));
}

TEST(Bodies, AnOrderToHoldHasAReason) {
  const auto order = parse_switch(R"({"off":true,"reason":"INC-7","for":"10m"})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->length, std::chrono::minutes(10));
  EXPECT_TRUE(parse_switch(R"({"off":false})"));
  EXPECT_FALSE(parse_switch(R"({"off":true,"reason":" "})"));
  EXPECT_FALSE(parse_switch(R"({"off":true,"reason":"x","for":"0s"})"));
  EXPECT_FALSE(parse_switch(R"({"off":true,"reason":")" + std::string(121, 'x') + "\"}"));
  EXPECT_FALSE(parse_switch(R"({"reason":"x"})"));
}

}  // namespace
}  // namespace damper::webhooks
