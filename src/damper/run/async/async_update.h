#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "damper/run/async/asio_error.h"
#include "damper/run/async/async_call.h"

namespace damper {

namespace run {

// One attempt of an update, as an operation.
template <class Read, class Modify, class Write>
struct AsyncUpdate {
  using Reading = Awaited<Read>;
  using Current = AwaitedValue<Read>;
  using Changed = std::invoke_result_t<Modify&, Current>;
  using Writing = typename std::invoke_result_t<Write&, Changed, const Attempt&>::value_type;

  Read read;
  Modify modify;
  Write write;

  boost::asio::awaitable<Writing> operator()(const Attempt& attempt) {
    std::optional<Reading> current;
    try {
      Reading reading = co_await std::invoke(read, attempt);
      current.emplace(std::move(reading));
    } catch (...) {
      current.emplace(failed_by_asio_exception());
    }
    if (!*current) {
      Failure failure = std::move(*current).take_error();
      failure.report.harmless = true;
      co_return unexpected(std::move(failure));
    }
    co_return co_await std::invoke(write, std::invoke(modify, **std::move(current)), attempt);
  }
};

}  // namespace run

// damper::update for coroutines: reads, applies the change, writes it back on the condition that
// it was not written in between; after a conflict all of it again, with the same backoff, budget
// and deadline as any retry.
//
//   read(attempt)      -> awaitable<Result<V>>: the value with its version
//   modify(V)          -> V: the change, applied anew in each attempt
//   write(V, attempt)  -> awaitable<Result<W>>: conditional on the version
//
// See damper::update for what is repeated, and async_call for everything else.
template <class Read, class Modify, class Write, class Token = boost::asio::use_awaitable_t<>>
auto async_update(Dependency& dependency, const Options& options, Read&& read, Modify&& modify,
                  Write&& write, Token&& token = Token()) {
  using Operation = run::AsyncUpdate<std::decay_t<Read>, std::decay_t<Modify>, std::decay_t<Write>>;
  return boost::asio::async_initiate<Token, void(CallResult<run::AwaitedValue<Operation>>)>(
      run::InitiateAsyncCall<run::NoExecutor>{.executor = {}, .rereads = true}, token, &dependency,
      options,
      Operation{std::forward<Read>(read), std::forward<Modify>(modify),
                std::forward<Write>(write)});
}

}  // namespace damper
