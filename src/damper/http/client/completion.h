#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/intrusive/list.hpp>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "damper/http/net/asio_context.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// A request that its caller can cancel. It leaves its CancellableList when it is destroyed.
class Cancellable : public boost::intrusive::list_base_hook<
                        boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual void cancel() = 0;

 protected:
  ~Cancellable() = default;
};
using CancellableList =
    boost::intrusive::list<Cancellable, boost::intrusive::constant_time_size<false>>;

// A Completion gets the result of a request, for any completion token.
template <class Result>
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  virtual ~Completion() = default;
  // Called once. The handler runs at the end of the turn, so that it may destroy the client.
  static void complete(std::unique_ptr<Completion> completion, Result&& result) {
    completion.release()->keep(std::move(result));
  }
  // The request that the caller may cancel until complete(); on the loop's thread.
  virtual void listen(Cancellable& request) = 0;

 protected:
  // It owns itself from here on, until it has called the handler.
  virtual void keep(Result&& result) = 0;
};

// An Asio handler: runs on its own executor, and its cancellation slot cancels the request.
//
// Why a TurnEnd: a result is known inside a connection's codec. A handler called there could not
// destroy its client, and its exception would unwind through the codec. At the end of the turn no
// codec is on the stack, and it costs no system call, unlike a post.
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
  // Outstanding work: a loop does not end while a request is under way.
  static auto executor_of(const Handler& handler, Loop& loop) {
    return boost::asio::prefer(
        boost::asio::get_associated_executor(handler, loop.context().get_executor()),
        boost::asio::execution::outstanding_work.tracked);
  }

  // Whether the handler's executor is the loop itself: it is called at the end of a turn then.
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
    if (loop_.is_ending())
      return on_loop_end();  // Like Asio's handlers, which are destroyed without a call.
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
