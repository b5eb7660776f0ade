#include "damper/http/server/coroutine_handler.h"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/guard_testing.h"
#include "damper/http/server/server_testing.h"
#include "damper/run/scope.h"

namespace damper::http {
namespace {

using boost::asio::awaitable;
using boost::asio::use_awaitable;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A server whose handler needs the loop that only the server has.
class CoroutineServer {
 public:
  explicit CoroutineServer(std::function<awaitable<Response>(const Request&)> answer,
                           std::function<void(Exchange&)> before = {})
      : server_(
            [&](Loop& loop, ServerMetrics& metrics) {
              Handler inner = answer_with_coroutine(loop, std::move(answer));
              Handler outer = [inner, before](ExchangePtr exchange) {
                if (before) before(*exchange);
                inner(std::move(exchange));
              };
              return TestServer::own(new HandlerService(loop, outer, {}, &metrics));
            },
            {}) {}

  std::string get() {
    RawClient client(server_.port);
    client.send("GET /there HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return client.read_all();
  }
  [[nodiscard]] TestServer& server() { return server_; }

 private:
  TestServer server_;
};

awaitable<void> rest(Duration length) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, length);
  co_await timer.async_wait(use_awaitable);
}

TEST(CoroutineHandler, AnswersWhenTheCoroutineReturns) {
  CoroutineServer server([](const Request& request) -> awaitable<Response> {
    co_await rest(milliseconds(1));
    co_return Response{.status = 203, .body = "hello " + request.target};
  });
  const std::string answer = server.get();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 203 ")) << answer;
  EXPECT_TRUE(answer.ends_with("hello /there"));
}

TEST(CoroutineHandler, AnExceptionIsA500) {
  CoroutineServer server([](const Request&) -> awaitable<Response> {
    co_await rest(milliseconds(1));
    throw std::runtime_error("no");
  });
  EXPECT_TRUE(server.get().starts_with("HTTP/1.1 500 "));
}

TEST(CoroutineHandler, WhatTheExchangeInheritsIsInheritedByCallsInside) {
  const Instant deadline = add(run::now(), seconds(7));
  CoroutineServer server(
      [](const Request&) -> awaitable<Response> {
        co_await rest(milliseconds(1));
        const run::RequestContext* inherited = run::Scope::context();
        co_return Response{
            .body = inherited == nullptr
                        ? "nothing"
                        : inherited->retry_owner +
                              std::to_string(inherited->deadline.at().time_since_epoch().count())};
      },
      [&](Exchange& exchange) {
        exchange.inherited().retry_owner = "gateway";
        exchange.inherited().deadline = schedule::Deadline(deadline);
      });
  EXPECT_TRUE(
      server.get().ends_with("gateway" + std::to_string(deadline.time_since_epoch().count())));
}

TEST(CoroutineHandler, ACallerWhoGoesAwayCancelsTheCoroutine) {
  std::promise<void> begun;
  std::promise<boost::system::error_code> ended;
  CoroutineServer server([&](const Request&) -> awaitable<Response> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, seconds(60));
    begun.set_value();
    const auto [error] = co_await timer.async_wait(boost::asio::as_tuple(use_awaitable));
    ended.set_value(error);
    co_return Response{};
  });
  RawClient client(server.server().port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().wait();
  client.close();
  auto future = ended.get_future();
  ASSERT_EQ(future.wait_for(seconds(5)), std::future_status::ready);
  EXPECT_EQ(future.get(), boost::asio::error::operation_aborted);
}

TEST(CoroutineHandler, BehindAGuardItDoesNotRunPastItsDeadline) {
  Loop loop;
  LoopGuard door(loop, patient_guard_options(1));
  boost::system::error_code ended;
  const Handler handler = guarded(
      answer_with_coroutine(
          loop,
          [&](const Request&) -> awaitable<Response> {
            boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, seconds(60));
            std::tie(ended) = co_await timer.async_wait(boost::asio::as_tuple(use_awaitable));
            co_return Response{};
          }),
      door.guard());
  const auto exchange = fake_exchange("GET", "/", {{"x-request-deadline", "20"}}, {}, run::now());
  handler(exchange);
  loop.run();  // Until there is nothing left to wait for.
  EXPECT_EQ(exchange->status(), 504);
  EXPECT_EQ(ended, boost::asio::error::operation_aborted);
  EXPECT_EQ(door.guard().admission().in_flight(), 0);
}

}  // namespace
}  // namespace damper::http
