#ifndef DAMPER_HTTP_CLIENT_COMPLETION_H_
#define DAMPER_HTTP_CLIENT_COMPLETION_H_

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "damper/http/net/asio_context.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// Something that its caller can give up.
class Cancellable {
 public:
  virtual void cancel() = 0;

 protected:
  ~Cancellable() = default;
};

// A Completion is who is told the result of a request, whatever the caller waits with.
template <class Result>
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  virtual ~Completion() = default;
  // Once. Told at the end of the turn, never from within: whoever hears it may destroy the client.
  static void complete(std::unique_ptr<Completion> completion, Result&& result) {
    completion.release()->keep(std::move(result));
  }
  // Whom the caller gives up, until complete(); on the loop's thread.
  virtual void listen(Cancellable& request) = 0;

 protected:
  // It owns itself from here on, until it has told.
  virtual void keep(Result&& result) = 0;
};

// A handler of Asio's: told by its own executor, and it may cancel.
//
// Why a TurnEnd: a result is known deep inside of a connection's codec. A handler that was called
// there could not destroy its client, and its exception would unwind through the codec. The end of
// the turn has nothing below it, and costs no system call as a post would.
template <class Result, class Handler>
class AsioCompletion final : public Completion<Result>, private Loop::TurnEnd {
 public:
  AsioCompletion(Handler handler, Loop& loop)
      : Loop::TurnEnd(loop),
        loop_(loop),
        executor_(executor_of(handler, loop)),
        handler_(std::move(handler)) {}

  void listen(Cancellable& request) override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    slot.assign([&request](boost::asio::cancellation_type type) {
      constexpr auto kHeeded =
          boost::asio::cancellation_type::terminal | boost::asio::cancellation_type::partial;
      if ((type & kHeeded) != boost::asio::cancellation_type::none) request.cancel();
    });
  }

 private:
  // It counts as work: a loop does not end while somebody waits for a request.
  static auto executor_of(const Handler& handler, Loop& loop) {
    return boost::asio::prefer(
        boost::asio::get_associated_executor(handler, loop.context().get_executor()),
        boost::asio::execution::outstanding_work.tracked);
  }

  // Whether the handler runs by the loop itself, on its only thread: the end of a turn is as good a
  // place as any.
  [[nodiscard]] bool is_loops() const {
    const auto loops = loop_.context().get_executor();
    const auto own = boost::asio::get_associated_executor(handler_, loops);
    using Own = std::remove_const_t<decltype(own)>;
    if constexpr (std::is_constructible_v<Own, decltype(loops)>) {
      return own == Own(loops);
    } else {
      return false;
    }
  }

  void keep(Result&& result) override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    if (loop_.is_ending()) return on_loop_end();  // As Asio's handlers, which are not told either.
    result_.emplace(std::move(result));
    ask_turn_end();
  }
  void on_turn_end() override {
    const std::unique_ptr<AsioCompletion> self(this);
    if (is_loops()) return std::move(handler_)(*std::move(result_));
    boost::asio::dispatch(executor_,
                          [handler = std::move(handler_), result = *std::move(result_)]() mutable {
                            std::move(handler)(std::move(result));
                          });
  }
  void on_loop_end() noexcept override { delete this; }

  Loop& loop_;
  std::decay_t<decltype(executor_of(std::declval<const Handler&>(), std::declval<Loop&>()))>
      executor_;
  Handler handler_;
  std::optional<Result> result_;
};

template <class Result, class Handler>
[[nodiscard]] std::unique_ptr<Completion<Result>> make_completion(Handler handler, Loop& loop) {
  return std::make_unique<AsioCompletion<Result, Handler>>(std::move(handler), loop);
}

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_COMPLETION_H_
