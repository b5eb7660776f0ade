#include "damper/cli/webhooks/webhooks_receiver.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "damper/http/server/server_testing.h"
#include "damper/webhooks/signature.h"

namespace damper::cli {
namespace {

using webhooks::SigningKey;

// A receiver on a loop of its own, and requests to it.
class Receiver {
 public:
  explicit Receiver(ReceiverOptions options) {
    options.port = 0;
    receiver_ = std::make_unique<WebhookReceiver>(loop_, std::move(options), out);
    const auto error = receiver_->listen();
    EXPECT_FALSE(error);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Receiver() { stop(); }

  // The status; 0: the connection was closed without an answer.
  [[nodiscard]] int post(const SigningKey& key, const std::string& id, const std::string& body) {
    const auto now =
        std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    const auto headers = webhooks::sign(std::array{key}, id, now, body);
    http::RawClient client(receiver_->port());
    client.send("POST /hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nwebhook-id: " + id +
                "\r\nwebhook-timestamp: " + headers->timestamp +
                "\r\nwebhook-signature: " + headers->signature +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string answer = client.read_all();
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }
  // Afterwards counts() and `out` may be read.
  void stop() {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
    receiver_->print_summary();
    counts = receiver_->counts();
    receiver_.reset();
  }

  std::ostringstream out;
  ReceiverCounts counts;

 private:
  http::Loop loop_;
  std::unique_ptr<WebhookReceiver> receiver_;
  std::thread thread_;
};

const std::string kBody = R"({"type":"invoice.paid","data":{"id":7}})";

TEST(WebhookReceiver, ChecksSignaturesAndCountsDuplicates) {
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  const SigningKey other = SigningKey::generate(webhooks::Scheme::v1);
  Receiver receiver({.keys = {key.verifying_key()}});
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 204);
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 204);
  EXPECT_EQ(receiver.post(other, "msg_b", "[]"), 400);
  receiver.stop();
  EXPECT_EQ(receiver.counts.received, 3U);
  EXPECT_EQ(receiver.counts.distinct, 2U);
  EXPECT_EQ(receiver.counts.duplicates, 1U);
  EXPECT_EQ(receiver.counts.invalid, 1U);
  const std::string text = receiver.out.str();
  EXPECT_NE(text.find("msg_a              invoice.paid          attempt 2  valid  204\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("attempt 1  no_match  400\n"), std::string::npos) << text;
  EXPECT_NE(text.find("3 received, 2 distinct ids, 1 duplicates of accepted ones, 1 invalid"),
            std::string::npos)
      << text;
}

TEST(WebhookReceiver, AFailedRequestThatIsRepeatedIsNoDuplicate) {
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  Receiver failing({.fail = 503});
  EXPECT_EQ(failing.post(key, "msg_a", kBody), 503);
  EXPECT_EQ(failing.post(key, "msg_a", kBody), 503);
  failing.stop();
  EXPECT_EQ(failing.counts.duplicates, 0U);
  EXPECT_EQ(failing.counts.refused, 2U);
  EXPECT_NE(failing.out.str().find("attempt 2  not checked  503"), std::string::npos);
}

TEST(WebhookReceiver, TroubleEnds) {
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  Receiver receiver({.fail = 503, .reset = true, .trouble = Duration{0}});
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 204);
}

TEST(WebhookReceiver, ClosesConnectionsInsteadOfAnAnswer) {
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  Receiver receiver({.reset = true});
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 0);
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 0);
  receiver.stop();
  EXPECT_EQ(receiver.counts.received, 2U);
  EXPECT_EQ(receiver.counts.refused, 2U);
  EXPECT_NE(receiver.out.str().find("attempt 2  -  reset"), std::string::npos);
}

TEST(WebhookReceiver, AnswersLater) {
  const SigningKey key = SigningKey::generate(webhooks::Scheme::v1);
  Receiver receiver({.slow = std::chrono::milliseconds(5)});
  EXPECT_EQ(receiver.post(key, "msg_a", kBody), 204);
  EXPECT_EQ(receiver.post(key, "msg_b", kBody), 204);
}

}  // namespace
}  // namespace damper::cli
