// A client for URLs that strangers choose, with an egress guard: addresses of the own network are
// not connected to.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "damper/damper.h"
#include "damper/http/client/client.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/url.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"

namespace asio = boost::asio;
namespace http = damper::http;
using namespace std::chrono_literals;

namespace {

// [deliver]
asio::awaitable<void> deliver(http::Client& client, const http::EgressGuard& guard,
                              std::string text) {
  const auto url = http::parse_url(text, guard);  // early, when a customer enters it
  if (!url) {
    std::cout << "refused: " << url.error() << '\n';
    co_return;
  }
  const auto answer = co_await client.fetch(http::make_request("POST", *url, "{}"), damper::in(5s));
  if (answer) {
    std::cout << "answered: " << answer->status << '\n';
  } else if (answer.error().error == http::CloseReason::address_refused) {
    try {
      std::rethrow_exception(answer.error().exception);
    } catch (const http::EgressRefused& refused) {
      std::cout << "refused: " << refused.what() << '\n';
    }
  }
}
// [/deliver]

// Stands for a name that a customer's DNS server resolves to an address of yours.
class HostileResolver final : public http::Resolver {
 public:
  void resolve(const std::string& /*host*/, Done done) override { done({"10.0.0.7"}); }
};

}  // namespace

int main() {
  http::Loop loop;
  http::HandlerService service(
      loop, [](const http::ExchangePtr& it) { it->respond(http::Response::plain(200, "")); });
  http::Server server(loop, {}, service);
  if (const auto error = server.listen()) std::cerr << *error << '\n';
  HostileResolver resolver;

  // [make]
  auto guard = std::make_shared<http::EgressGuard>();
  guard->ports = {80, 443, server.port()};
  guard->allowed = {*http::Network::find("127.0.0.1/32")};  // the server of this example
  http::ClientOptions options;
  options.dialer.guard = guard;
  // [/make]
  options.resolver = &resolver;
  http::Client client(loop, options);

  asio::co_spawn(
      loop.context(),
      [&]() -> asio::awaitable<void> {
        co_await deliver(client, *guard, "http://127.0.0.1:" + std::to_string(server.port()) + "/");
        co_await deliver(client, *guard, "http://169.254.169.254/latest/meta-data/");
        co_await deliver(client, *guard, "http://[::ffff:10.0.0.1]/");
        co_await deliver(client, *guard, "http://0x7f.1/");
        co_await deliver(client, *guard, "http://example.com:6379/");
        co_await deliver(client, *guard, "http://customer.test/hooks");
      },
      [&](const std::exception_ptr& error) {
        if (error) std::cerr << "failed\n";
        loop.stop();
      });
  loop.run();
}
