#include "damper/webhooks/model/endpoint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace damper::webhooks {
namespace {

using std::chrono::milliseconds;

[[nodiscard]] EndpointConfig good() {
  return {.url = "https://example.com/hook",
          .secrets = {{.key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}};
}

TEST(EndpointConfig, MatchesTypesPrefixesAndChannels) {
  EndpointConfig config = good();
  EXPECT_TRUE(matches(config, "invoice.paid", ""));
  config.types = {"invoice.*", "user.created"};
  EXPECT_TRUE(matches(config, "invoice.paid", ""));
  EXPECT_TRUE(matches(config, "invoice.line.added", ""));
  EXPECT_FALSE(matches(config, "invoices.paid", ""));
  EXPECT_FALSE(matches(config, "invoice", ""));
  EXPECT_FALSE(matches(config, "user.deleted", ""));
  config.channels = {"eu"};
  EXPECT_TRUE(matches(config, "user.created", "eu"));
  EXPECT_FALSE(matches(config, "user.created", "us"));
  EXPECT_FALSE(matches(config, "user.created", ""));
  config.disabled = true;
  EXPECT_FALSE(matches(config, "user.created", "eu"));
}

TEST(EndpointConfig, EachInvalidFieldIsNamed) {
  EXPECT_EQ(find_error(good()), std::nullopt);
  const auto error = [](auto change) {
    EndpointConfig config = good();
    change(config);
    return find_error(config).value_or("none");
  };
  const auto has = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(error([](auto& c) { c.url = std::string(3000, 'a'); }), "url"));
  EXPECT_TRUE(has(error([](auto& c) { c.types = {"a..b"}; }), "types"));
  EXPECT_TRUE(has(error([](auto& c) { c.types = {".*"}; }), "types"));
  EXPECT_TRUE(has(error([](auto& c) { c.channels = {"a b"}; }), "channels"));
  EXPECT_TRUE(has(error([](auto& c) { c.types.assign(65, "a"); }), "64"));
  EXPECT_TRUE(has(error([](auto& c) { c.secrets.clear(); }), "secrets"));
  EXPECT_TRUE(has(error([](auto& c) { c.secrets[0].key = "whsec_YWJj"; }), "secret"));
  EXPECT_TRUE(has(error([](auto& c) { c.concurrency = 0; }), "concurrency"));
  EXPECT_TRUE(has(error([](auto& c) { c.rate = 0; }), "rate"));
  EXPECT_TRUE(has(error([](auto& c) { c.timeout = milliseconds(99); }), "timeout"));
  EXPECT_TRUE(
      has(error([](auto& c) { c.retries = std::vector<Duration>{Duration{0}}; }), "retries"));
}

TEST(EndpointConfig, NoHeaderOfTheDispatcherOrOfTheConnectionCanBeSet) {
  for (const char* const name : {"Webhook-Id", "webhook-signature", "Host", "content-length",
                                 "Transfer-Encoding", "damper-attempt", "", "a b", "x:y"}) {
    EndpointConfig config = good();
    config.headers = {{name, "x"}};
    EXPECT_NE(find_error(config), std::nullopt) << name;
  }
  EndpointConfig config = good();
  config.headers = {{"X-Key", "a\r\nEvil: 1"}};
  EXPECT_NE(find_error(config), std::nullopt);
  config.headers = {{"Authorization", "Bearer abc"}};
  EXPECT_EQ(find_error(config), std::nullopt);
}

TEST(EndpointConfig, NamesOfApplicationsAndTypes) {
  EXPECT_TRUE(is_application_name("default"));
  EXPECT_TRUE(is_application_name("acme-1.eu_x"));
  for (const char* const name : {"", "-a", "A", "a/b", "a b", ".."}) {
    EXPECT_FALSE(is_application_name(name)) << name;
  }
  EXPECT_FALSE(is_application_name(std::string(65, 'a')));
  EXPECT_TRUE(is_event_type("a.b-c.D_1"));
  for (const char* const type : {"", ".", "a.", ".a", "a..b", "a b", "a*", "\xc3\xa4"}) {
    EXPECT_FALSE(is_event_type(type)) << type;
  }
}

}  // namespace
}  // namespace damper::webhooks
