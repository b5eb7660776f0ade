#ifndef DAMPER_HTTP_CLIENT_COMPLETION_H_
#define DAMPER_HTTP_CLIENT_COMPLETION_H_

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <type_traits>
#include <utility>

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
  // Once. `inside`: from within the function that starts the request; a handler of Asio's is told
  // later then.
  virtual void complete(Result&& result, bool inside) = 0;
  // Whom the caller gives up, until complete(); on the loop's thread.
  virtual void listen(Cancellable& /*request*/) {}
};

// A handler of Asio's: told by its own executor, and it may cancel.
template <class Result, class Handler>
class AsioCompletion final : public Completion<Result> {
 public:
  AsioCompletion(Handler handler, boost::asio::io_context& context)
      : executor_(executor_of(handler, context)), handler_(std::move(handler)) {}

  void complete(Result&& result, bool inside) override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    // What dispatch() would do, without moving the result three times.
    if constexpr (requires { executor_.running_in_this_thread(); }) {
      if (!inside && executor_.running_in_this_thread()) {
        return std::move(handler_)(std::move(result));
      }
    }
    auto told = [handler = std::move(handler_), result = std::move(result)]() mutable {
      std::move(handler)(std::move(result));
    };
    if (inside) return boost::asio::post(executor_, std::move(told));
    boost::asio::dispatch(executor_, std::move(told));
  }
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
  static auto executor_of(const Handler& handler, boost::asio::io_context& context) {
    return boost::asio::prefer(
        boost::asio::get_associated_executor(handler, context.get_executor()),
        boost::asio::execution::outstanding_work.tracked);
  }

  std::decay_t<decltype(executor_of(std::declval<const Handler&>(),
                                    std::declval<boost::asio::io_context&>()))>
      executor_;
  Handler handler_;
};

template <class Result, class Handler>
[[nodiscard]] std::unique_ptr<Completion<Result>> make_completion(
    Handler handler, boost::asio::io_context& context) {
  return std::make_unique<AsioCompletion<Result, Handler>>(std::move(handler), context);
}

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_COMPLETION_H_
