#include "damper/proxy/request/client_wait.h"

#include <gtest/gtest.h>

#include "damper/proxy/request/proxied_request_testing.h"

// client_rate_limit of a route.
namespace damper::proxy {
namespace {

ClientRateConfig one_each() {
  return {.rates = {.bucket = {.rate_per_second = 0.001, .burst = 1}, .max_clients = 16}};
}

http::FieldList from(const std::string& address) {
  http::FieldList fields;
  fields.add("x-forwarded-for", address);
  return fields;
}

TEST(ClientWait, AClientOverItsRateIsRefusedAndOthersAreNot) {
  Stage stage;
  stage.route.client_rate_limit = one_each();
  stage.trust = Trust::all();
  Backend& backend = stage.add([](Backend::Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.1")))->status, 200);
  const auto refused = stage.fetch(stage.make("GET", "/", {}, from("203.0.113.1")));
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->fields.find("damper-verdict"), "limited");
  EXPECT_TRUE(refused->fields.find("retry-after"));
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.2")))->status, 200);
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("2001:db8::1")))->status, 200);
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("2001:db8::2")))->status, 429);  // One /64.
  EXPECT_EQ(backend.visits.size(), 3U);
  EXPECT_EQ(stage.client_rates->refused(), 2U);
}

TEST(ClientWait, AStrangersForwardedAddressIsNotItsKey) {
  Stage stage;
  stage.route.client_rate_limit = one_each();
  stage.trust = Trust();
  stage.add([](Backend::Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.1")))->status, 200);
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.2")))->status, 429);
}

TEST(ClientWait, TheClientIsTheFieldsValueOrItsAddress) {
  Stage stage;
  stage.route.client_rate_limit = one_each();
  stage.route.client_rate_limit->header = "x-api-key";
  stage.add([](Backend::Visit& visit) { visit.respond(200); });
  stage.begin();
  const auto status = [&](const std::string& key) {
    http::FieldList fields;
    if (!key.empty()) fields.add("X-Api-Key", key);
    return stage.fetch(stage.make("GET", "/", {}, fields))->status;
  };
  EXPECT_EQ(status("alice"), 200);
  EXPECT_EQ(status("alice"), 429);
  EXPECT_EQ(status("bob"), 200);
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status(""), 429);
  EXPECT_EQ(status("127.0.0.1"), 200);  // A value is no address.
}

// Otherwise a random first value would be a new client in each request.
TEST(ClientWait, OfAFieldOnSeveralLinesTheAddressCounts) {
  Stage stage;
  stage.route.client_rate_limit = one_each();
  stage.route.client_rate_limit->header = "x-api-key";
  stage.add([](Backend::Visit& visit) { visit.respond(200); });
  stage.begin();
  const auto status = [&](const std::string& first) {
    http::FieldList fields;
    fields.add("x-api-key", first);
    fields.add("X-API-Key", "alice");
    return stage.fetch(stage.make("GET", "/", {}, fields))->status;
  };
  EXPECT_EQ(status("1"), 200);
  EXPECT_EQ(status("2"), 429);
  EXPECT_EQ(status("alice"), 429);
}

TEST(ClientWait, ARefusedClientTakesNothingOfTheRoutesRate) {
  Stage stage;
  stage.route.client_rate_limit = one_each();
  stage.route.rate_limit = {.rate_per_second = 0.001, .burst = 2};
  stage.trust = Trust::all();
  stage.add([](Backend::Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.1")))->status, 200);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.1")))->status, 429);
  }
  EXPECT_EQ(stage.fetch(stage.make("GET", "/", {}, from("203.0.113.2")))->status, 200);
}

}  // namespace
}  // namespace damper::proxy
