// A guarded HTTP client: retries on another replica, deadlines, keys for POST, and updates that
// read again after a conflict.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "damper/damper.h"
#include "damper/http/client/client.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"

namespace asio = boost::asio;
namespace http = damper::http;
using namespace std::chrono_literals;

namespace {

http::Response answer(int status, std::string body = {}) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

// The service under test: invoices that fail once, orders, and a value with another writer.
class Service {
 public:
  explicit Service(http::Loop& loop)
      : service_(loop, [this](const http::ExchangePtr& it) { it->respond(serve(it->request())); }),
        server_(loop, {}, service_) {
    if (const auto error = server_.listen()) std::cerr << *error << '\n';
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

 private:
  http::Response serve(const http::Request& request) {
    if (request.target == "/invoices/7") {
      return invoices_++ == 0 ? answer(503) : answer(200, "invoice 7");
    }
    if (request.target == "/orders") {
      const bool keyed = request.fields.find("idempotency-key").has_value();
      return orders_++ == 0 ? answer(500) : answer(201, keyed ? "ordered by key" : "ordered");
    }
    if (request.target == "/limit") {
      const std::string version = "\"" + std::to_string(writes_) + "\"";
      if (request.method == "GET") {
        http::Response response = answer(200, limit_);
        response.fields.add("etag", version);
        if (writes_ == 0) limit_ = std::to_string(++writes_ * 200);  // Another client writes.
        return response;
      }
      if (request.fields.find("if-match") != version) return answer(412);
      limit_ = request.body;
      return answer(204);
    }
    return answer(404, "no such thing");
  }

  int invoices_ = 0;
  int orders_ = 0;
  int writes_ = 0;
  std::string limit_ = "100";
  http::HandlerService service_;
  http::Server server_;
};

asio::awaitable<void> use(http::GuardedClient& client) {
  // [get]
  http::HttpResult invoice = co_await client.get("/invoices/7", damper::in(5s));
  if (!invoice) std::cerr << damper::name(invoice.verdict()) << '\n';
  // [/get]
  std::cout << invoice->body << " after " << invoice.attempts() << " attempts\n";

  http::HttpResult order = co_await client.post("/orders", "two chairs", damper::in(5s));
  std::cout << order->body << " after " << order.attempts() << " attempts\n";

  // [answer]
  http::HttpResult missing = co_await client.get("/nothing", damper::in(5s));
  if (!missing && missing.answer() != nullptr) {
    std::cout << damper::name(missing.verdict()) << ": " << missing.answer()->status << ' '
              << missing.answer()->body << '\n';
  }
  // [/answer]

  // [update]
  http::HttpResult raised = co_await client.update("/limit", [](const http::Response& read) {
    return std::to_string(std::stoi(read.body) + 1);
  });
  // [/update]
  http::HttpResult limit = co_await client.get("/limit", damper::in(5s));
  std::cout << "limit " << limit->body << " after " << raised.attempts() << " attempts\n";
}

asio::awaitable<void> use(http::Client& client, const std::string& url) {
  // [client]
  const auto page = co_await client.fetch(
      http::make_request("GET", *http::parse_url(url + "/nothing")), damper::in(5s));
  if (page) std::cout << "unguarded: " << page->status << '\n';
  // [/client]
}

}  // namespace

int main() {
  http::Loop loop;
  Service service(loop);
  // [make]
  damper::Dependency billing("billing");
  http::GuardedClient client(loop, billing,
                             {.endpoints = {service.url()}, .make_idempotency_key = true});
  // [/make]
  damper::engine::Policy policy;
  policy.call.backoff.base = 1ms;
  billing.reload(policy, loop.now());
  http::Client plain(loop);

  asio::co_spawn(
      loop.context(),
      [&]() -> asio::awaitable<void> {
        co_await use(client);
        co_await use(plain, service.url());
      },
      [&](const std::exception_ptr& error) {
        if (error) std::cerr << "failed\n";
        loop.stop();
      });
  loop.run();
}
