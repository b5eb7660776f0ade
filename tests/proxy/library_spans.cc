// library_spans COLLECTOR: a traced server whose handler calls a guarded client; the call of
// /retried has a retry, that of /hedged a hedge that wins. trace_test.py reads the exported spans.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
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

constexpr int kWarmUps = 20;

http::Response answer(int status) {
  http::Response response;
  response.status = status;
  return response;
}

// A server with a function.
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

damper::Policy hedging() {
  damper::Policy policy;
  policy.call.hedge = {
      .max_hedges = 1, .floor = 500ms, .min_samples = 10, .ratio = damper::Percent(100)};
  policy.budget.percent = damper::Percent(100);
  return policy;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: library_spans COLLECTOR\n";
    return 2;
  }
  http::Loop loop;
  int failures = 0;  // answers that fail, from now on
  int stalls = 0;    // requests that are not answered before `stalled` ends
  std::vector<http::ExchangePtr> stalled;
  const auto billing = [&](const http::ExchangePtr& it) {
    if (stalls > 0) {
      --stalls;
      return stalled.push_back(it);
    }
    it->respond(answer(failures > 0 ? 503 : 200));
    if (failures > 0) --failures;
  };
  const Service first(loop, billing);
  const Service second(loop, billing);
  http::TraceExporter exporter({.collector = argv[1],
                                .service_name = "library",
                                .interval = 10ms,
                                .tracer = {.sampling = damper::Percent(0)}});
  const auto tracer = exporter.make_tracer();
  damper::Dependency dependency("billing", hedging());
  http::GuardedClient client(loop, dependency,
                             {.endpoints = {first.url(), second.url()}, .tracer = tracer.get()});
  const auto shop = [&](const http::Request& request) -> asio::awaitable<http::Response> {
    const std::string path = request.target;
    if (path == "/retried") failures = 1;
    if (path == "/hedged") stalls = 1;
    const http::HttpResult got = co_await client.get("/invoices", damper::in(30s));
    co_return answer(got ? 200 : 502);
  };
  http::LoopGuard guard(loop);
  http::HandlerService service(
      loop, traced(guarded(answer_with_coroutine(loop, shop), guard.guard()), *tracer,
                   {.trusted = true, .route = "shop"}));
  http::Server server(loop, {}, service);
  if (const auto error = server.listen()) std::cerr << *error << '\n';
  std::thread thread([&] { loop.run(); });

  // The caller owns no retries: the shop's client does.
  damper::Policy once;
  once.call.max_attempts = 1;
  damper::Dependency shops("shop", once);
  int bad = 0;
  {
    http::BlockingClient caller(
        shops, {.endpoints = {"http://127.0.0.1:" + std::to_string(server.port())}});
    const auto get = [&](const std::string& path, const std::string& trace) {
      http::Request request = http::GuardedClient::make("GET", path);
      const bool sampled = !trace.empty();
      if (sampled) request.fields.add("traceparent", "00-" + trace + "-b7ad6b7169203331-01");
      const http::HttpResult got =
          caller.request(std::move(request), {.deadline = damper::in(30s)});
      if (!got || got->status != 200) ++bad;
    };
    for (int i = 0; i < kWarmUps; ++i) get("/", {});  // A hedge needs latencies.
    std::this_thread::sleep_for(1500ms);              // They are looked at once a second.
    get("/retried", "0af7651916cd43dd8448eb211c80319c");
    get("/hedged", "0af7651916cd43dd8448eb211c80319d");
  }
  exporter.drain(10s);
  loop.stop();
  thread.join();
  stalled.clear();
  std::cout << exporter.counts().exported << '\n';
  return bad == 0 ? 0 : 1;
}
