// Spans of a server, of the calls that its handler makes, and of their attempts, exported to a
// collector.

#include <boost/asio/awaitable.hpp>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "damper/damper.h"
#include "damper/http/client/blocking_client.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/server/coroutine_handler.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/http/trace/trace_exporter.h"
#include "damper/http/trace/traced.h"

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

// A server with a function: the collector, and the replicas of billing.
class Service {
 public:
  Service(http::Loop& loop, const http::Handler& handler)
      : service_(loop, handler), server_(loop, {}, service_) {
    if (const auto error = server_.listen()) std::cerr << *error << '\n';
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

 private:
  http::HandlerService service_;
  http::Server server_;
};

}  // namespace

// An argument is the URL of an OpenTelemetry collector; without one the example has its own.
int main(int argc, char** argv) {
  http::Loop loop;
  const Service stand_in(loop, [](const http::ExchangePtr& it) { it->respond(answer(200)); });
  const std::string collector = argc > 1 ? argv[1] : stand_in.url();
  std::vector<std::string> parents;  // that billing got
  const auto invoices = [&](const http::ExchangePtr& it) {
    parents.emplace_back(it->request().fields.find("traceparent").value_or("none"));
    it->respond(parents.size() == 1 ? answer(503) : answer(200, "invoice 7"));
  };
  const Service first(loop, invoices);
  const Service second(loop, invoices);

  // [exporter]
  http::TraceExporter exporter({.collector = collector,
                                .service_name = "shop",
                                .interval = 10ms,
                                .tracer = {.sampling = damper::Percent(100)}});
  const auto tracer = exporter.make_tracer();  // one for each loop
  // [/exporter]

  damper::Dependency billing("billing");
  // [client]
  http::GuardedClient client(loop, billing,
                             {.endpoints = {first.url(), second.url()}, .tracer = tracer.get()});
  // [/client]
  const auto shop = [&](const http::Request&) -> asio::awaitable<http::Response> {
    const http::HttpResult invoice = co_await client.get("/invoices/7", damper::in(5s));
    co_return invoice ? answer(200, invoice->body) : answer(502);
  };
  http::LoopGuard door(loop);
  // [server]
  http::HandlerService service(
      loop, traced(guarded(answer_with_coroutine(loop, shop), door.guard()), *tracer,
                   {.trusted = true, .route = "/orders"}));
  // [/server]
  http::Server server(loop, {}, service);
  if (const auto error = server.listen()) std::cerr << *error << '\n';
  std::thread thread([&] { loop.run(); });

  // Of several layers the first one retries: a caller with retries would leave none to the shop.
  damper::Policy once;
  once.call.max_attempts = 1;
  damper::Dependency shop_dependency("shop", once);
  {
    http::BlockingClient caller(
        shop_dependency, {.endpoints = {"http://127.0.0.1:" + std::to_string(server.port())}});
    http::Request request = http::GuardedClient::make("GET", "/orders");
    request.fields.add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    const http::HttpResult got = caller.request(std::move(request), {.deadline = damper::in(10s)});
    if (got) std::cout << "answer: " << got->status << ' ' << got->body << '\n';
  }
  exporter.drain(10s);
  loop.stop();
  thread.join();

  std::set<std::string> traces;
  std::set<std::string> spans;
  for (const std::string& parent : parents) {
    traces.insert(parent.substr(3, 32));
    spans.insert(parent.substr(36, 16));
  }
  if (parents.size() == 2 && spans.size() == 2 &&
      traces == std::set<std::string>{"0af7651916cd43dd8448eb211c80319c"}) {
    std::cout << "billing was called twice, by two spans of the caller's trace\n";
  }
  std::cout << "exported: " << exporter.counts().exported << " spans\n";
}
