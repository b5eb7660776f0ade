#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "damper/run/async/async_attempts.h"
#include "damper/run/blocking.h"

namespace damper {

namespace run {

// AsyncAttempts with the handler that gets the result.
template <class Operation, class Handler>
class AsyncCall final : public AsyncAttempts<Operation> {
  using Attempts = AsyncAttempts<Operation>;
  using Result = CallResult<typename Attempts::Value>;

 public:
  AsyncCall(Dependency& dependency, const engine::CallOptions& options,
            const boost::asio::any_io_executor& executor, const Options& users, Operation operation,
            Handler handler)
      : Attempts(dependency, options, executor, users.stop, std::move(operation)),
        handlers_(boost::asio::prefer(boost::asio::get_associated_executor(handler, executor),
                                      boost::asio::execution::outstanding_work.tracked)),
        handler_(std::move(handler)) {}

  // On whatever thread; what follows is on the executor.
  static void initiate(const std::shared_ptr<AsyncCall>& call) {
    auto slot = boost::asio::get_associated_cancellation_slot(call->handler_);
    if (slot.is_connected()) {
      slot.assign([&caller = *call](boost::asio::cancellation_type type) {
        constexpr auto kHeeded =
            boost::asio::cancellation_type::terminal | boost::asio::cancellation_type::partial;
        if ((type & kHeeded) != boost::asio::cancellation_type::none) caller.cancel();
      });
    }
    boost::asio::dispatch(call->executor(), [call] {
      call->is_called_ = true;
      call->begin();
      call->is_called_ = false;
    });
  }

 private:
  void on_end(Result result) override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    const auto handlers = handlers_;  // The call may be destroyed when the handler runs.
    auto told = [handler = std::move(handler_), result = std::move(result)]() mutable {
      std::move(handler)(std::move(result));
    };
    if (is_called_) return boost::asio::post(handlers, std::move(told));
    boost::asio::dispatch(handlers, std::move(told));
  }

  void cancel() {
    is_called_ = true;
    this->on_cancel(now());
    is_called_ = false;
  }

  using Handlers = std::decay_t<decltype(boost::asio::prefer(
      boost::asio::get_associated_executor(std::declval<const Handler&>(),
                                           std::declval<const boost::asio::any_io_executor&>()),
      boost::asio::execution::outstanding_work.tracked))>;

  Handlers handlers_;
  Handler handler_;
  bool is_called_ = false;  // by the user's code, inside of which no handler is called
};

// An executor that no handler is associated with.
struct NoExecutor {};
template <class Handler>
inline constexpr bool kHasExecutor =
    !std::same_as<typename boost::asio::associated_executor<Handler, NoExecutor>::type, NoExecutor>;

template <class Executor>
struct InitiateAsyncCall {
  Executor executor{};
  bool rereads = false;

  template <class Handler, class Operation>
  void operator()(Handler&& handler, Dependency* dependency, const Options& options,
                  Operation&& operation) const {
    using Call = AsyncCall<std::decay_t<Operation>, std::decay_t<Handler>>;
    engine::CallOptions asked = engine_options(options);
    asked.request.rereads = rereads;
    Call::initiate(std::make_shared<Call>(*dependency, asked, executor_of(handler), options,
                                          std::forward<Operation>(operation),
                                          std::forward<Handler>(handler)));
  }

 private:
  template <class Handler>
  [[nodiscard]] boost::asio::any_io_executor executor_of(const Handler& handler) const {
    if constexpr (std::same_as<Executor, NoExecutor>) {
      static_assert(kHasExecutor<Handler>,
                    "this token has no executor: async_call(executor, dependency, ...)");
      return boost::asio::get_associated_executor(handler);
    } else {
      return executor;
    }
  }
};

template <class Operation>
concept AsyncOperation =
    std::invocable<Operation&, const Attempt&> && requires { typename AwaitedValue<Operation>; };

}  // namespace run

// Guards one asynchronous operation: damper::call for coroutines.
//
//   auto invoice = co_await damper::async_call(billing, {.idempotent = true},
//       [&](damper::Attempt attempt) -> asio::awaitable<damper::Result<Invoice>> {
//         co_return co_await fetch_invoice(id, attempt.deadline());
//       });
//
// The operation is called once for each attempt, as awaitable<Result<T>>(Attempt), or an awaitable
// of what else damper::call takes; what it throws is a failure, as there. Each attempt is a
// coroutine on the call's executor, inside of a Scope: guarded calls in it inherit its deadline and
// know that retries are owned. One that loses, is late or whose caller gives up is cancelled
// (terminal), which reaches the socket that it waits for; the call ends when every attempt's
// coroutine has, so an operation may refer to the caller's frame and must let itself be cancelled,
// as Asio's operations do. An Attempt is good as long as its attempt. The token gets a
// CallResult<T>: use_awaitable, deferred, a function. Cancelling the call (terminal or partial,
// emitted on its executor), or options.stop from any thread, ends it with the verdict `cancelled`.
// A kill switch ends it at once while it waits for its next attempt.
// Thread safety: the call lives on its handler's executor. If that has many threads, it must be a
// strand.
// Cost: two allocations for a call, none for an attempt beyond its coroutine frames.
template <run::AsyncOperation Operation, class Token = boost::asio::use_awaitable_t<>>
auto async_call(Dependency& dependency, const Options& options, Operation&& operation,
                Token&& token = Token()) {
  return boost::asio::async_initiate<Token, void(CallResult<run::AwaitedValue<Operation>>)>(
      run::InitiateAsyncCall<run::NoExecutor>{}, token, &dependency, options,
      std::forward<Operation>(operation));
}

// The same on this executor, for tokens that bring none of their own: a plain function, use_future.
template <run::AsyncOperation Operation, class Token = boost::asio::use_awaitable_t<>>
auto async_call(const boost::asio::any_io_executor& executor, Dependency& dependency,
                const Options& options, Operation&& operation, Token&& token = Token()) {
  return boost::asio::async_initiate<Token, void(CallResult<run::AwaitedValue<Operation>>)>(
      run::InitiateAsyncCall<boost::asio::any_io_executor>{executor}, token, &dependency, options,
      std::forward<Operation>(operation));
}

}  // namespace damper
