#ifndef DAMPER_HTTP_SERVER_COROUTINE_HANDLER_H_
#define DAMPER_HTTP_SERVER_COROUTINE_HANDLER_H_

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
// Model: it runs on the loop, by an executor that is inside of the exchange's inherited(): guarded
// calls in it, and in what it awaits, take over the caller's deadline and who retries, without
// being told. When the caller goes away, it is cancelled (terminal). An exception is a 500.
// The request is good for as long as the coroutine runs.
// Thread safety: none; all on the loop's thread. The loop outlives the handler.
[[nodiscard]] Handler answer_with_coroutine(
    Loop& loop, std::function<boost::asio::awaitable<Response>(const Request&)> answer);

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_COROUTINE_HANDLER_H_
