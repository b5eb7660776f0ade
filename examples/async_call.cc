// Guarded calls in coroutines: retries, an inherited deadline, and cancelled attempts.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <string>

#include "damper/damper.h"
#include "damper/run/async/async_call.h"

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> pause(damper::Duration length) {
  asio::steady_timer timer(co_await asio::this_coro::executor, length);
  co_await timer.async_wait(asio::use_awaitable);
}

// Stands for your client: its first connection is refused.
asio::awaitable<std::string> fetch_invoice(std::uint32_t attempt) {
  co_await pause(1ms);
  if (attempt == 1) throw boost::system::system_error(asio::error::connection_refused);
  co_return "invoice 7";
}

asio::awaitable<void> retried(damper::Dependency& billing) {
  // [call]
  const auto invoice = co_await damper::async_call(
      billing, {.idempotent = true, .deadline = damper::in(10s)},
      [&](damper::Attempt attempt) -> asio::awaitable<damper::Result<std::string>> {
        co_return co_await fetch_invoice(attempt.number());
      });
  if (!invoice) std::cerr << damper::name(invoice.verdict()) << '\n';
  // [/call]
  std::cout << *invoice << " after " << invoice.attempts() << " attempts\n";
}

asio::awaitable<void> late(damper::Dependency& billing) {
  // [cancelled]
  const auto invoice = co_await damper::async_call(
      billing, {.deadline = damper::in(5ms)},
      [&](damper::Attempt) -> asio::awaitable<damper::Result<std::string>> {
        co_await pause(1h);  // Cancelled at the deadline.
        co_return "too late";
      });
  // [/cancelled]
  std::cout << "a slow answer: " << damper::name(invoice.verdict()) << '\n';
}

asio::awaitable<void> nested(damper::Dependency& billing, damper::Dependency& rates) {
  // [nested]
  const auto invoice = co_await damper::async_call(
      billing, {.idempotent = true}, [&](damper::Attempt) -> asio::awaitable<damper::Outcome> {
        const auto rate = co_await damper::async_call(  // Inherits deadline and owner.
            rates, {.idempotent = true}, [](damper::Attempt) -> asio::awaitable<damper::Outcome> {
              co_return damper::Outcome::transient;
            });
        std::cout << "inside: " << damper::name(rate.verdict()) << '\n';
        co_return damper::Outcome::success;
      });
  // [/nested]
  std::cout << "outside: " << damper::name(invoice.verdict()) << '\n';
}

asio::awaitable<void> work_for_a_request(damper::Dependency& billing) {
  const auto result = co_await damper::async_call(
      billing, {.idempotent = true}, [](damper::Attempt) -> asio::awaitable<damper::Outcome> {
        co_return damper::Outcome::success;
      });
  std::cout << "its caller has gone: " << damper::name(result.verdict()) << '\n';
}

}  // namespace

int main() {
  damper::Policy policy;
  policy.call.backoff = {.base = 1ms, .cap = 1ms};
  damper::Dependency billing("billing", policy);
  damper::Dependency rates("rates", policy);
  asio::io_context context(1);
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        co_await retried(billing);
        co_await late(billing);
        co_await nested(billing, rates);
      },
      asio::detached);
  context.run();
  context.restart();

  // [scoped]
  const damper::run::RequestContext request{
      .deadline = damper::schedule::Deadline(damper::in(0ms)),  // From the request's headers.
      .owned_above = {.retries = true, .unsent = true},
      .retry_owner = "edge"};
  asio::co_spawn(damper::scoped(context.get_executor(), request), work_for_a_request(billing),
                 asio::detached);
  // [/scoped]
  context.run();
  return 0;
}
