#include "damper/http/server/coroutine_handler.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "damper/http/net/asio_context.h"
#include "damper/run/async/scoped_executor.h"

namespace damper::http {
namespace {

using Answer = std::function<boost::asio::awaitable<Response>(const Request&)>;

// A coroutine that runs: its request, and the signal that cancels it.
struct UnderWay {
  ExchangePtr exchange;
  boost::asio::cancellation_signal cancel;
};

void spawn(Loop& loop, const Answer& answer, ExchangePtr exchange) {
  auto under_way = std::make_shared<UnderWay>();
  under_way->exchange = std::move(exchange);
  Exchange& here = *under_way->exchange;
  here.on_cancel([weak = std::weak_ptr(under_way)] {
    if (const auto alive = weak.lock()) {
      alive->cancel.emit(boost::asio::cancellation_type::terminal);
    }
  });
  const boost::asio::any_io_executor executor = ScopedExecutor(
      loop.context().get_executor(), run::SharedInherited(here.inherited()));  // in place
  boost::asio::co_spawn(executor, answer(here.request()),
                        boost::asio::bind_cancellation_slot(
                            under_way->cancel.slot(),
                            [under_way](const std::exception_ptr& failed, Response response) {
                              // After an exception the exchange is destroyed: a 500.
                              if (!failed) under_way->exchange->respond(std::move(response));
                            }));
}

}  // namespace

Handler answer_with_coroutine(Loop& loop, Answer answer) {
  return [&loop, answer = std::move(answer)](ExchangePtr exchange) {
    spawn(loop, answer, std::move(exchange));
  };
}

}  // namespace damper::http
