#ifndef DAMPER_QUEUE_WORK_QUEUE_ASYNC_WORK_QUEUE_H_
#define DAMPER_QUEUE_WORK_QUEUE_ASYNC_WORK_QUEUE_H_

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
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_options.h"
#include "damper/queue/work_queue/work_queue_shell.h"

namespace damper::queue {

// An AsyncWorkQueue is a WorkQueueCore for Boost.Asio: a get is an asynchronous operation.
//
//   while (auto item = co_await queue.async_get(asio::use_awaitable)) co_await work_on(item.key());
//
// Why: see WorkQueueCore. Keys, leases, delays, limiter and shut_down are those of WorkQueue; here
// nobody blocks, and nothing but Boost's headers is needed beside damper::damper.
// Model: a get that finds nothing stands in line with its handler, first come, first served. One
// timer is set for the next delayed key while somebody stands there.
// Invariants:
//   (1) No handler is called inside of a call to the queue, nor under its lock: each is posted to
//       its own executor, or to the queue's.
//   (2) A get ends with a key; with an empty lease once the queue is shut down and no key is ready
//       or will be; with error::operation_aborted when it is cancelled (through its cancellation
//       slot: all types of cancellation), or when the queue goes; with error::no_buffer_space, at
//       once, when max_waiting stand in line.
//   (3) A get that was cancelled takes no key. If a key came first, the key is what it ends with.
// Thread safety: all methods may be called concurrently, but the destructor. A get's cancellation
// is emitted, as usual, where its handler runs. A handler that was posted may hold a lease: let the
// context run until it has ended before the queue goes.
// Cost: as WorkQueueShell; a get that waits has one node of a list and its handler.
template <class Key, class Payload = Nothing>
class AsyncWorkQueue : public WorkQueueShell<Key, Payload, AsyncWorkQueue<Key, Payload>> {
  using Shell = WorkQueueShell<Key, Payload, AsyncWorkQueue>;
  using Error = boost::system::error_code;

 public:
  using typename Shell::AddResult;
  using typename Shell::Lease;
  using typename Shell::Unfinished;
  using typename Shell::View;
  using Signature = void(boost::system::error_code, Lease);

  static constexpr std::size_t kMaxWaiting = 10'000;

  // REQUIRES: !find_error(options). Without a limiter: default_limiter.
  explicit AsyncWorkQueue(boost::asio::any_io_executor executor,
                          const WorkQueueOptions& options = {},
                          std::unique_ptr<RateLimiter<Key>> limiter = nullptr,
                          std::size_t max_waiting = kMaxWaiting, Times times = Times::coarse)
      : Shell(options, std::move(limiter), times),
        executor_(std::move(executor)),
        max_waiting_(max_waiting),
        timer_(executor_) {}
  ~AsyncWorkQueue() {
    {
      const std::lock_guard lock(door_->mutex);  // Nobody comes in by it from here on.
      door_->queue = nullptr;
    }
    for (Waiter& waiter : waiters_) waiter.error = boost::asio::error::operation_aborted;
    wake(std::move(waiters_));
  }

  // Takes the next key, or waits for one: handler(error, Lease).
  template <boost::asio::completion_token_for<Signature> Token>
  auto async_get(Token&& token) {
    return boost::asio::async_initiate<Token, Signature>(
        [this](auto handler) { start(Handler(std::move(handler))); }, token);
  }

  // How many gets stand in line.
  [[nodiscard]] std::size_t waiting() const {
    const std::unique_lock lock = this->hold();
    return waiters_.size();
  }
  [[nodiscard]] const boost::asio::any_io_executor& get_executor() const noexcept {
    return executor_;
  }

 private:
  friend Shell;
  using Shell::core;
  using Handler = boost::asio::any_completion_handler<Signature>;

  // A get that stands in line, and what it ends with.
  struct Waiter {
    std::uint64_t number;
    Handler handler;
    // Both know that there is work to come: their contexts run on.
    boost::asio::any_io_executor queues;
    boost::asio::any_completion_executor handlers;
    Error error{};
    Lease lease{};
  };
  using Waiters = std::list<Waiter>;

  // What a timer or a cancellation holds of the queue: it may be gone when they come.
  struct Door {
    explicit Door(AsyncWorkQueue* owner) : queue(owner) {}
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
    const Instant now = this->glance();
    std::unique_lock lock = this->hold();
    if (waiters_.empty()) this->take(waiter.lease, now);
    if (!waiter.lease && !core().is_over()) {
      if (waiters_.size() < max_waiting_) {
        waiter.number = ++number_;
        // Its slot is its own until it is posted, which needs the lock.
        if (slot.is_connected()) slot.assign(Cancellation{door_, waiter.number});
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
    std::shared_ptr<Door> door;
    std::uint64_t number;
    void operator()(boost::asio::cancellation_type type) const {
      if (type == boost::asio::cancellation_type::none) return;
      const std::lock_guard lock(door->mutex);
      if (door->queue != nullptr) door->queue->cancel(number);
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

  // Those who have something to end with. REQUIRES: the lock is held.
  [[nodiscard]] Waiters find_wake() {
    Waiters woken;
    if (waiters_.empty()) [[likely]]
      return woken;
    while (!waiters_.empty()) {
      this->take(waiters_.front().lease, this->glance());
      if (!waiters_.front().lease) break;
      woken.splice(woken.end(), waiters_, waiters_.begin());
    }
    if (core().is_over()) woken.splice(woken.end(), waiters_);
    set_timer();
    return woken;
  }
  // REQUIRES: it is not.
  void wake(Waiters woken) {
    for (Waiter& waiter : woken) {
      this->on_taken(waiter.lease);
      boost::asio::post(
          executor_, boost::asio::bind_executor(waiter.handlers,
                                                Completion{std::move(waiter.handler), waiter.error,
                                                           std::move(waiter.lease)}));
    }
  }
  // Calls a handler after its slot was freed.
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

  // Somebody stands in line: the timer is set for the next delayed key. Nobody: it is not set.
  // REQUIRES: the lock is held.
  void set_timer() {
    const Instant due = waiters_.empty() ? kNever : this->next_due();
    if (due == timer_due_) return;
    timer_due_ = due;
    if (due == kNever) {
      (void)timer_.cancel();
      return;
    }
    (void)timer_.expires_at(run::steady_time(due));
    timer_.async_wait([door = door_](Error error) {
      if (error) return;
      const std::lock_guard lock(door->mutex);
      if (door->queue != nullptr) door->queue->on_timer();
    });
  }
  void on_timer() {
    this->change([this] { timer_due_ = kNever; });
  }

  const boost::asio::any_io_executor executor_;
  const std::size_t max_waiting_;
  const std::shared_ptr<Door> door_ = std::make_shared<Door>(this);
  // All below is under the lock.
  Waiters waiters_;
  std::uint64_t number_ = 0;
  boost::asio::steady_timer timer_;
  Instant timer_due_ = kNever;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_ASYNC_WORK_QUEUE_H_
