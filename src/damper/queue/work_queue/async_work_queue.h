#pragma once

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/instant.h"
#include "damper/queue/limiters/rate_limiter.h"
#include "damper/queue/work_queue/work_queue_base.h"
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_options.h"

namespace damper::queue {

// An AsyncWorkQueue is a WorkQueueCore for Boost.Asio: get is an asynchronous operation.
//
//   while (auto item = co_await queue.async_get(asio::use_awaitable)) {
//     co_await work_on(item.key());
//     item.done();
//   }
//
// Why: see WorkQueueCore. Keys, leases, delays, limiter and shut_down are as in WorkQueue, without
// blocking. Needs only Boost's headers besides damper::damper.
// Model: a get without a ready key is queued with its handler, first in, first out. While a get is
// queued, one timer is set for the next delayed key.
// Invariants:
//   (1) No handler is called inside a call to the queue or under its lock: each is posted to its
//       associated executor, which defaults to the queue's.
//   (2) A get completes with a key; with an empty lease once the queue is shut down and no key is
//       ready or will be; with error::operation_aborted when it is cancelled (by any type of
//       cancellation) or the queue is destroyed; with error::no_buffer_space, immediately, when
//       max_waiting gets are queued.
//   (3) A cancelled get takes no key. A get that has a key before its cancellation keeps it.
// Thread safety: all methods may be called concurrently, except the destructor. As usual, emit a
// cancellation where the handler runs. A posted handler may hold a lease: run the context until it
// has completed before the queue is destroyed.
// Cost: as WorkQueueBase; a queued get is one list node and its handler.
template <class Key, class Payload = Nothing>
class AsyncWorkQueue : public WorkQueueBase<Key, Payload, AsyncWorkQueue<Key, Payload>> {
  using Base = WorkQueueBase<Key, Payload, AsyncWorkQueue>;
  using Error = boost::system::error_code;

 public:
  using typename Base::AddResult;
  using typename Base::Lease;
  using typename Base::Unfinished;
  using typename Base::View;
  using Signature = void(boost::system::error_code, Lease);

  static constexpr std::size_t kMaxWaiting = 10'000;

  // REQUIRES: !find_error(options). Without a limiter: default_limiter.
  explicit AsyncWorkQueue(boost::asio::any_io_executor executor,
                          const WorkQueueOptions& options = {},
                          std::unique_ptr<RateLimiter<Key>> limiter = nullptr,
                          std::size_t max_waiting = kMaxWaiting, Times times = Times::coarse)
      : Base(options, std::move(limiter), times),
        executor_(std::move(executor)),
        max_waiting_(max_waiting),
        timer_(executor_) {}
  ~AsyncWorkQueue() {
    {
      const std::lock_guard lock(
          link_->mutex);  // No timer or cancellation reaches the queue from here on.
      link_->queue = nullptr;
    }
    for (Waiter& waiter : waiters_) waiter.error = boost::asio::error::operation_aborted;
    wake(std::move(waiters_));
  }

  // Completes with the next key: handler(error, Lease).
  template <boost::asio::completion_token_for<Signature> Token>
  auto async_get(Token&& token) {
    return boost::asio::async_initiate<Token, Signature>(
        [this](auto handler) { start(Handler(std::move(handler))); }, token);
  }

  // The number of queued gets.
  [[nodiscard]] std::size_t waiting() const {
    const std::unique_lock lock = this->hold();
    return waiters_.size();
  }
  [[nodiscard]] const boost::asio::any_io_executor& get_executor() const noexcept {
    return executor_;
  }

 private:
  friend Base;
  using Base::core;
  using Handler = boost::asio::any_completion_handler<Signature>;

  // A queued get, and its result.
  struct Waiter {
    std::uint64_t number;
    Handler handler;
    // Both track outstanding work: their contexts keep running.
    boost::asio::any_io_executor queues;
    boost::asio::any_completion_executor handlers;
    Error error{};
    Lease lease{};
  };
  using Waiters = std::list<Waiter>;

  // The queue as timers and cancellations reach it: nullptr after its destruction.
  struct Link {
    explicit Link(AsyncWorkQueue* owner) : queue(owner) {}
    std::mutex mutex;
    AsyncWorkQueue* queue;
  };

  void start(Handler handler) {
    Waiters waiters;
    constexpr auto kTracked = boost::asio::execution::outstanding_work.tracked;
    auto handlers = boost::asio::get_associated_executor(handler, executor_);
    waiters.push_back({.number = 0,
                       .handler = std::move(handler),
                       .queues = boost::asio::prefer(executor_, kTracked),
                       .handlers = boost::asio::prefer(handlers, kTracked)});
    Waiter& waiter = waiters.front();
    auto slot = boost::asio::get_associated_cancellation_slot(waiter.handler);
    const Instant now = this->read_clock();
    std::unique_lock lock = this->hold();
    if (waiters_.empty()) this->take(waiter.lease, now);
    if (!waiter.lease && !core().is_over()) {
      if (waiters_.size() < max_waiting_) {
        waiter.number = ++number_;
        // The slot is unused until the handler is posted, which needs the lock.
        if (slot.is_connected()) slot.assign(Cancellation{link_, waiter.number});
        waiters_.splice(waiters_.end(), waiters);
      } else {
        waiter.error = boost::asio::error::no_buffer_space;
      }
    }
    set_timer();
    lock.unlock();
    wake(std::move(waiters));
  }

  struct Cancellation {
    std::shared_ptr<Link> link;
    std::uint64_t number;
    void operator()(boost::asio::cancellation_type type) const {
      if (type == boost::asio::cancellation_type::none) return;
      const std::lock_guard lock(link->mutex);
      if (link->queue != nullptr) link->queue->cancel(number);
    }
  };
  void cancel(std::uint64_t number) {
    Waiters cancelled;
    std::unique_lock lock = this->hold();
    for (auto at = waiters_.begin(); at != waiters_.end(); ++at) {
      if (at->number != number) continue;
      at->error = boost::asio::error::operation_aborted;
      cancelled.splice(cancelled.end(), waiters_, at);
      break;
    }
    set_timer();
    lock.unlock();
    wake(std::move(cancelled));
  }

  // Removes the gets that have a result. REQUIRES: the lock is held.
  [[nodiscard]] Waiters find_wake() {
    Waiters woken;
    if (waiters_.empty()) [[likely]]
      return woken;
    while (!waiters_.empty()) {
      this->take(waiters_.front().lease, this->read_clock());
      if (!waiters_.front().lease) break;
      woken.splice(woken.end(), waiters_, waiters_.begin());
    }
    if (core().is_over()) woken.splice(woken.end(), waiters_);
    set_timer();
    return woken;
  }
  // Posts the handlers. REQUIRES: the lock is not held.
  void wake(Waiters woken) {
    for (Waiter& waiter : woken) {
      this->on_taken(waiter.lease);
      boost::asio::post(
          executor_, boost::asio::bind_executor(waiter.handlers,
                                                Completion{std::move(waiter.handler), waiter.error,
                                                           std::move(waiter.lease)}));
    }
  }
  // Clears the cancellation slot, then calls the handler.
  struct Completion {
    Handler handler;
    Error error;
    Lease lease;

    void operator()() {
      auto slot = boost::asio::get_associated_cancellation_slot(handler);
      if (slot.is_connected()) slot.clear();
      std::move(handler)(error, std::move(lease));
    }
  };

  // Sets the timer for the next delayed key while a get is queued. REQUIRES: the lock is held.
  void set_timer() {
    const Instant due = waiters_.empty() ? kNever : this->next_due();
    if (due == timer_due_) return;
    timer_due_ = due;
    if (due == kNever) {
      (void)timer_.cancel();
      return;
    }
    (void)timer_.expires_at(run::steady_time(due));
    timer_.async_wait([link = link_](Error error) {
      if (error) return;
      const std::lock_guard lock(link->mutex);
      if (link->queue != nullptr) link->queue->on_timer();
    });
  }
  void on_timer() {
    this->change([this] { timer_due_ = kNever; });
  }

  const boost::asio::any_io_executor executor_;
  const std::size_t max_waiting_;
  const std::shared_ptr<Link> link_ = std::make_shared<Link>(this);
  // Guarded by the lock:
  Waiters waiters_;
  std::uint64_t number_ = 0;
  boost::asio::steady_timer timer_;
  Instant timer_due_ = kNever;
};

}  // namespace damper::queue
