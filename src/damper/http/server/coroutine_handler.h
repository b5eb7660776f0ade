#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>

#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler.h"

namespace damper::http {

// A coroutine that answers:
//
//   answer_with_coroutine(loop, [&](const Request& request) -> asio::awaitable<Response> {
//     auto reply = co_await damper::async_call(billing, {}, ...);   // inherits the deadline
//     co_return Response{.body = *reply};
//   });
//
// Model: it runs on the loop, by an executor with the scope of the exchange's inherited(): guarded
// calls in it, and in what it awaits, inherit the client's deadline and retry owner. If the client
// disconnects, it is cancelled (terminal). An exception is answered 500.
// The request is valid while the coroutine runs.
// Thread safety: none; all on the loop's thread. The loop outlives the handler.
[[nodiscard]] Handler answer_with_coroutine(
    Loop& loop, std::function<boost::asio::awaitable<Response>(const Request&)> answer);

}  // namespace damper::http
