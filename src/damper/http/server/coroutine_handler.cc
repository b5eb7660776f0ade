#include "damper/http/server/coroutine_handler.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "damper/run/async/scoped_executor.h"

namespace damper::http {
namespace {

using Answer = std::function<boost::asio::awaitable<Response>(const Request&)>;

// What a coroutine under way needs: its request, and the way to cancel it.
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
  boost::asio::co_spawn(scoped(loop.context().get_executor(), here.inherited()),
                        answer(here.request()),
                        boost::asio::bind_cancellation_slot(
                            under_way->cancel.slot(),
                            [under_way](const std::exception_ptr& failed, Response response) {
                              // One that failed says nothing: the exchange that is let go of is a
                              // 500.
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
