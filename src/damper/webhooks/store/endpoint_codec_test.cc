#include "damper/webhooks/store/endpoint_codec.h"

#include <gtest/gtest.h>

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;

EndpointConfig full_config() {
  return {.url = "https://example.com/h\xc3\xb6ok?\"x\"",
          .description = "two\nlines\t\\ and \x01",
          .types = {"invoice.paid", "order.*"},
          .channels = {"eu-west"},
          .filter = {{"data.country", "DE"}},
          .headers = {{"x-a", "1"}, {"x-b", ""}},
          .secrets = {{.key = "whsec_new"}, {.key = "whsk_old", .expires = UnixTime(1234567ms)}},
          .concurrency = 7,
          .rate = 0.1,
          .timeout = 1500ms,
          .retries = std::vector<Duration>{5s, 72h},
          .schedule = RetrySchedule::decorrelated,
          .backoff_base = 2s,
          .backoff_cap = 3h,
          .max_attempts = 12,
          .max_age = 48h,
          .client_errors_end = true,
          .ordering = Ordering::by_key_skip,
          .disabled = true,
          .disabled_reason = "410 Gone"};
}

TEST(EndpointCodec, AConfigurationIsTheSameAfterDecoding) {
  const EndpointConfig plain{.url = "https://example.com", .secrets = {{.key = "whsec_x"}}};
  EndpointConfig no_retries = plain;
  no_retries.retries.emplace();  // not the dispatcher's
  for (const EndpointConfig& config : {full_config(), plain, no_retries}) {
    const auto decoded = decode(encode(config));
    ASSERT_TRUE(decoded) << decoded.error();
    EXPECT_EQ(*decoded, config);
  }
}

TEST(EndpointCodec, UnknownFieldsAreIgnored) {
  const auto decoded = decode(R"({"url": "http://a", "of_a_newer_version": [1]})");
  ASSERT_TRUE(decoded) << decoded.error();
  EXPECT_EQ(decoded->url, "http://a");
}

TEST(EndpointCodec, AFieldOfAnotherTypeIsAnError) {
  for (const char* text :
       {"", "{", R"({"url": 1})", R"({"secrets": [{"key": 1}]})", R"({"ordering": "never"})",
        R"({"retries": ["x"]})", R"({"disabled": "yes"})"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
}

}  // namespace
}  // namespace damper::webhooks
