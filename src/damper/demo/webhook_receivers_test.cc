#include "damper/demo/webhook_receivers.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "damper/http/client/blocking_client.h"
#include "damper/http/client/client.h"
#include "damper/http/client/url.h"
#include "damper/run/clock.h"
#include "damper/webhooks/signature.h"

namespace damper::demo {
namespace {

using webhooks::SigningKey;

// The status of a signed request; 0: no answer.
int post(const std::string& url, const SigningKey& key, const std::string& id) {
  const auto parsed = http::parse_url(url);
  engine::Policy once;
  once.call.max_attempts = 1;
  Dependency dependency("receiver", once);
  http::BlockingClient client(dependency, {.endpoints = {parsed->endpoint.text()}});
  const std::string body = "{}";
  const auto headers = webhooks::sign(std::array{key}, id, run::wall_time(), body);
  http::Request request = http::make_request("POST", *parsed, body);
  request.fields.add(webhooks::kIdHeader, headers->id);
  request.fields.add(webhooks::kTimestampHeader, headers->timestamp);
  request.fields.add(webhooks::kSignatureHeader, headers->signature);
  const auto result = client.request(std::move(request), {});
  return result.answer() == nullptr ? 0 : result.answer()->status;
}

TEST(WebhookReceivers, CountEachMessageOnceAndTheRestAsDuplicates) {
  auto started = WebhookReceivers::start({{.name = "a"}, {.name = "b", .refuses = true}});
  ASSERT_TRUE(started) << started.error();
  WebhookReceivers& receivers = **started;
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  EXPECT_EQ(post(receivers.url(0), key, "m1"), 400);  // It has no key yet.
  receivers.set_key(0, key.verifying_key());
  EXPECT_EQ(post(receivers.url(0), key, "m1"), 204);
  EXPECT_EQ(post(receivers.url(0), key, "m1"), 204);
  EXPECT_EQ(post(receivers.url(0), key, "m2"), 204);
  EXPECT_EQ(post(receivers.url(1), key, "m1"), 0);
  const auto counts = receivers.counts(0);
  EXPECT_EQ(counts.first, 2U);
  EXPECT_EQ(counts.again, 2U);
  EXPECT_EQ(counts.accepted, 2U);
  EXPECT_EQ(counts.duplicates, 1U);
  EXPECT_EQ(counts.invalid, 1U);
  EXPECT_TRUE(receivers.has_accepted(0, "m2"));
  EXPECT_FALSE(receivers.has_accepted(1, "m1"));
}

TEST(WebhookReceivers, OneThatIsDownAcceptsNothing) {
  auto started = WebhookReceivers::start({{.name = "a", .down = std::chrono::hours(1)},
                                          {.name = "b", .answer = std::chrono::milliseconds(1)}});
  ASSERT_TRUE(started) << started.error();
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  for (const std::size_t receiver : {0U, 1U}) (*started)->set_key(receiver, key.verifying_key());
  EXPECT_EQ((*started)->first_request(0), kNever);
  EXPECT_EQ(post((*started)->url(0), key, "m1"), 503);
  EXPECT_EQ(post((*started)->url(1), key, "m1"), 204);
  EXPECT_NE((*started)->first_request(0), kNever);
  EXPECT_EQ((*started)->counts(0).accepted, 0U);
}

}  // namespace
}  // namespace damper::demo
