// A receiver of webhooks: a server that accepts only signed messages, each once, and the sender
// that signs them.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "damper/damper.h"
#include "damper/http/client/client.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/webhooks/key.h"
#include "damper/webhooks/signature.h"

namespace asio = boost::asio;
namespace http = damper::http;
namespace webhooks = damper::webhooks;
using namespace std::chrono_literals;

namespace {

damper::UnixTime wall_now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

class Receiver {
 public:
  Receiver(http::Loop& loop, std::vector<webhooks::VerifyingKey> keys)
      : keys_(std::move(keys)),
        service_(loop, [this](const http::ExchangePtr& it) { it->respond(serve(it->request())); }),
        server_(loop, {}, service_) {
    if (const auto error = server_.listen()) std::cerr << *error << '\n';
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port()) + "/webhooks";
  }

 private:
  // [serve]
  http::Response serve(const http::Request& request) {
    const auto headers = webhooks::received_headers(
        [&](std::string_view name) { return request.fields.find(name); });
    const auto result = webhooks::verify(keys_, headers, request.body, wall_now());
    if (result != webhooks::Verification::valid) {
      return http::Response::plain(400, std::string(name(result)));
    }
    // A sender repeats a message until it is answered: process each id once.
    if (!seen_.insert(std::string(*headers.id)).second) return http::Response::plain(200, "again");
    return http::Response::plain(200, "processed " + request.body);
  }
  // [/serve]

  const std::vector<webhooks::VerifyingKey> keys_;
  std::set<std::string> seen_;  // A real one is in the database, with an expiry.
  http::HandlerService service_;
  http::Server server_;
};

// [send]
http::Request signed_request(const std::string& url, const std::vector<webhooks::SigningKey>& keys,
                             std::string_view id, damper::UnixTime now, std::string body) {
  const auto headers = webhooks::sign(keys, id, now, body);
  http::Request request = http::make_request("POST", *http::parse_url(url), std::move(body));
  request.fields.add(webhooks::kIdHeader, headers->id);
  request.fields.add(webhooks::kTimestampHeader, headers->timestamp);
  request.fields.add(webhooks::kSignatureHeader, headers->signature);
  return request;
}
// [/send]

asio::awaitable<void> deliver(http::Client& client, std::string what, http::Request request) {
  const auto answer = co_await client.fetch(std::move(request), damper::in(5s));
  if (answer) std::cout << what << ": " << answer->status << ' ' << answer->body << '\n';
}

asio::awaitable<void> use(http::Client& client, std::string url,
                          std::vector<webhooks::SigningKey> keys) {
  const std::vector<webhooks::SigningKey> old_key{keys[1]};
  const std::string body = R"({"type":"invoice.paid"})";
  const auto now = wall_now();
  co_await deliver(client, "signed", signed_request(url, keys, "msg_1", now, body));
  co_await deliver(client, "repeated", signed_request(url, keys, "msg_1", now, body));
  co_await deliver(client, "old key", signed_request(url, old_key, "msg_2", now, body));
  co_await deliver(client, "recorded", signed_request(url, keys, "msg_3", now - 10min, body));
  http::Request changed = signed_request(url, keys, "msg_4", now, body);
  changed.body = R"({"type":"invoice.void"})";
  co_await deliver(client, "changed", std::move(changed));
  co_await deliver(client, "unsigned", http::make_request("POST", *http::parse_url(url), body));
}

}  // namespace

int main() {
  // [keys]
  // The sender: a new Ed25519 key, and the old secret until every receiver has the public key.
  const auto new_key = webhooks::SigningKey::generate(webhooks::Scheme::v1a);
  const auto old_key = webhooks::SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  if (!old_key) std::cerr << old_key.error() << '\n';
  // The receiver: what the sender gives it, from its configuration.
  const auto public_key = webhooks::VerifyingKey::parse(new_key.verifying_key().text());
  const auto secret = webhooks::VerifyingKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  // [/keys]

  http::Loop loop;
  Receiver receiver(loop, {*public_key, *secret});
  http::Client client(loop);
  asio::co_spawn(loop.context(), use(client, receiver.url(), {new_key, *old_key}),
                 [&](const std::exception_ptr& error) {
                   if (error) std::cerr << "failed\n";
                   loop.stop();
                 });
  loop.run();
}
