#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "damper/base/percent.h"
#include "damper/engine/policy.h"
#include "damper/run/async/scoped_executor.h"
#include "damper/run/attempt.h"
#include "damper/run/blocking.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Retries that wait for a millisecond, and a budget that does not run out.
[[nodiscard]] inline engine::Policy quick_policy() {
  engine::Policy policy;
  policy.call.timeout = 3h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1ms, .cap = 1ms};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

// Retries that wait for an hour: a call that gets there ends by a flip or a stop.
[[nodiscard]] inline engine::Policy slow_policy() {
  engine::Policy policy = quick_policy();
  policy.call.backoff.base = policy.call.backoff.cap = 1h;
  policy.budget = {.percent = Percent(0), .reserve = 1000};
  return policy;
}
// Whether a call of its has paid for a retry, and so waits for it.
[[nodiscard]] inline bool somebody_waits(Dependency& dependency) {
  return dependency.budget().balance(run::now()) < 1000;
}

// Hedges from the first hundred calls on, which warm() makes.
[[nodiscard]] inline engine::Policy hedging_policy() {
  engine::Policy policy = quick_policy();
  policy.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
  return policy;
}
inline void warm(Dependency& dependency) {
  for (int i = 0; i < 100; ++i) {
    (void)call(dependency, {}, [](const Attempt&) { return decide::Outcome::success; });
  }
}

inline asio::awaitable<void> pause(Duration length) {
  asio::steady_timer timer(co_await asio::this_coro::executor, length);
  co_await timer.async_wait(asio::use_awaitable);
}

// An operation that always ends like this, at once.
[[nodiscard]] inline auto ends(decide::Outcome outcome) {
  return [outcome](const Attempt&) -> asio::awaitable<decide::Outcome> { co_return outcome; };
}

// Runs a coroutine to its end, with all that it starts; what it throws is thrown.
template <class Coroutine>
void run_here(Coroutine coroutine, run::RequestContext inherited = {}) {
  asio::io_context context(1);
  const auto told = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  if (inherited.deadline == schedule::Deadline()) {
    asio::co_spawn(context, std::move(coroutine), told);
  } else {
    asio::co_spawn(scoped(context.get_executor(), std::move(inherited)), std::move(coroutine),
                   told);
  }
  context.run();
}

}  // namespace damper
