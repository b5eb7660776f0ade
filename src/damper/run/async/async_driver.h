#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "damper/base/instant.h"
#include "damper/run/async/handler_memory.h"
#include "damper/run/call_driver.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::run {

// An AsyncDriver is a CallDriver on an Asio executor: it has the timer, and observes flipped
// switches, while the call waits for a retry, and a stop token.
//
// Model: whatever the call waits for owns it: its timer, its attempts, a wake-up from another
// thread. A call whose context is destroyed is destroyed with it, as cancelled. The timer is
// created when it is first needed.
// Invariants:
//   (1) A waiting call sees a flip at once, from whatever thread it comes.
// Thread safety: all on the executor, which runs one thing at a time; flips and stops come from
// anywhere.
// Cost: no allocation for the timer.
class AsyncDriver : public CallDriver,
                    public WaitingCall,
                    public std::enable_shared_from_this<AsyncDriver> {
 public:
  AsyncDriver(Dependency& dependency, const engine::CallOptions& options,
              boost::asio::any_io_executor executor)
      : CallDriver(dependency, options), executor_(std::move(executor)) {}

 protected:
  ~AsyncDriver() override {
    stopped_.reset();
    WaitingCalls::of_process().remove(*this);
    abandon(now());
  }

  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  // From now on a stop request ends the call. REQUIRES: a shared_ptr has it.
  void heed(const std::stop_token& stop) {
    if (stop.stop_possible()) stopped_.emplace(stop, Stopped{*this});
  }
  // No stop is heeded any more.
  void rest() { stopped_.reset(); }

  void wake_at(Instant when) final {
    if (!is_waiting()) {
      WaitingCalls::of_process().remove(*this);
    } else if (!is_in_line()) {
      WaitingCalls::of_process().add(*this);
      on_timer(now());  // Once more: for a flip since the call looked.
    }
    if (when == set_for_) return;
    set_for_ = when;
    if (when == kNever) {
      (void)timer_->cancel();
      return;
    }
    if (!timer_) timer_.emplace(executor_);
    (void)timer_->expires_at(steady_time(when));
    timer_->async_wait(boost::asio::bind_allocator(
        memory_.allocator(), [self = shared_from_this(), when](boost::system::error_code error) {
          if (error || self->set_for_ != when) return;  // It was set again.
          self->set_for_ = kNever;
          self->on_timer(now());
        }));
  }

 private:
  struct Stopped {
    AsyncDriver& driver;
    void operator()() const noexcept {
      driver.post([](AsyncDriver& call) { call.on_cancel(now()); });
    }
  };

  void on_flip() noexcept final {
    post([](AsyncDriver& call) { call.on_timer(now()); });
  }
  // Runs it on the executor, unless the call is on its way out.
  template <class What>
  void post(What what) noexcept {
    if (std::shared_ptr<AsyncDriver> self = weak_from_this().lock()) {
      boost::asio::post(executor_, [self = std::move(self), what] { what(*self); });
    }
  }

  const boost::asio::any_io_executor executor_;
  HandlerMemory memory_;
  std::optional<boost::asio::steady_timer> timer_;
  Instant set_for_ = kNever;
  std::optional<std::stop_callback<Stopped>> stopped_;
};

}  // namespace damper::run
