#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <concepts>
#include <cstddef>
#include <exception>
#include <forward_list>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "damper/engine/step.h"
#include "damper/run/async/asio_error.h"
#include "damper/run/async/async_driver.h"
#include "damper/run/async/scoped_executor.h"
#include "damper/run/attempt.h"
#include "damper/run/clock.h"
#include "damper/run/result.h"
#include "damper/run/scope.h"

namespace damper::run {

// What an asynchronous operation yields: see ValueOf.
template <class Operation>
using Awaited = typename std::invoke_result_t<Operation&, const Attempt&>::value_type;
template <class Operation>
using AwaitedValue = typename ValueOf<Awaited<Operation>>::type;

// What the calls inside of a call's attempts inherit, but for the deadline, which is the attempt's.
[[nodiscard]] inline RequestContext inherited_by_attempts(const Dependency& dependency,
                                                          const engine::Call& call) {
  RequestContext inherited = Scope::take_along();
  const Scope::Owns owns = owned_by(call);
  if (owns.retries) inherited.retry_owner = owner_name(dependency.name());
  inherited.owned_above.retries |= owns.retries;
  inherited.owned_above.unsent |= owns.unsent;
  return inherited;
}

// AsyncAttempts drive a call whose attempts are coroutines on its executor.
//
// Model: each attempt is spawned inside a scope of its own, with a cancellation signal. Giving one
// up emits the signal, terminally, which reaches the socket that it waits for, and requests its
// stop, if the call hedges (else its stop token is the caller's). What it returns then
// is dropped; that it has ended is waited for, since it may refer to the caller's frame.
// Invariants:
//   (1) on_end() comes once, when the verdict is there and no coroutine of an attempt is left.
//   (2) An attempt that has been given up keeps its slot until it has ended: the next one in its
//       lane has another.
// Thread safety: see AsyncDriver.
// Cost: beyond the coroutine frames, an attempt allocates nothing: its slot is in the call, and
// what it inherits is written over for the next one.
template <class Operation>
class AsyncAttempts : public AsyncDriver {
 public:
  using Value = AwaitedValue<Operation>;

  AsyncAttempts(Dependency& dependency, const engine::CallOptions& options,
                boost::asio::any_io_executor executor, std::stop_token stop, Operation operation)
      : AsyncDriver(dependency, options, std::move(executor)),
        stop_(std::move(stop)),
        inherited_(inherited_by_attempts(dependency, call())),
        operation_(std::move(operation)) {}

 protected:
  ~AsyncAttempts() override = default;
  virtual void on_end(CallResult<Value> result) = 0;

  void begin() {
    if (stop_.stop_requested()) return on_cancel(now());
    heed(stop_);
    start(now());
  }

 private:
  struct Slot {
    engine::Attempt attempt;
    bool taken = false;
    SharedRequestContext inherited;
    boost::asio::cancellation_signal signal;
    std::stop_source stop{std::nostopstate};  // of this attempt, if it may lose
    std::stop_token token;                    // the operation's
    std::optional<Result<Value>> result;
  };
  // What co_spawn() calls when the coroutine has ended.
  struct Ended {
    std::shared_ptr<AsyncAttempts> self;
    Slot* slot;
    void operator()(const std::exception_ptr& error) const { self->on_ended(*slot, error); }
  };

  void send(const engine::Attempt& attempt) final {
    Slot& slot = take_slot();
    slot.attempt = attempt;
    slot.stop = call().may_hedge() ? std::stop_source() : std::stop_source(std::nostopstate);
    slot.token = slot.stop.stop_possible() ? slot.stop.get_token() : stop_;
    lanes_[attempt.lane] = &slot;
    ++running_;
    boost::asio::co_spawn(
        scoped(executor(), inherit(slot)), [this, &slot] { return run(slot); },
        boost::asio::bind_cancellation_slot(
            slot.signal.slot(),
            Ended{std::static_pointer_cast<AsyncAttempts>(shared_from_this()), &slot}));
  }

  void give_up(int lane) final {
    Slot& slot = *lanes_[static_cast<std::size_t>(lane)];
    std::stop_source stop = slot.stop;  // The slot may be used again.
    slot.signal.emit(boost::asio::cancellation_type::terminal);
    (void)stop.request_stop();
  }

  void on_verdict(Verdict verdict) final {
    verdict_ = verdict;
    if (running_ == 0) finish();
  }

  boost::asio::awaitable<void> run(Slot& slot) {
    try {
      const Attempt attempt(slot.attempt, slot.token);
      if constexpr (std::is_void_v<Awaited<Operation>>) {
        co_await std::invoke(*operation_, attempt);
        slot.result.emplace(Done{});
      } else {
        Awaited<Operation> returned = co_await std::invoke(*operation_, attempt);
        slot.result.emplace(result_of<Value>(std::move(returned)));
      }
    } catch (...) {
      slot.result.emplace(failed_by_asio_exception());
    }
  }

  void on_ended(Slot& slot, const std::exception_ptr& error) {
    const Scope::Outside outside(*slot.inherited);
    slot.signal.slot().clear();  // It has the executor, and with it the scope's record.
    slot.taken = false;
    --running_;
    std::optional<Result<Value>> result = std::exchange(slot.result, std::nullopt);
    if (!is_wanted(slot.attempt)) {
      if (is_over() && running_ == 0) finish();
      return;
    }
    decide::Report report;
    if (result && *result) {
      value_.emplace(**std::move(result));
    } else {
      failure_ =
          result ? std::move(*result).take_error() : failed(decide::Outcome::permanent).error;
      if (!result) failure_->exception = error;
      judge_cancellation(*failure_, stop_.stop_requested());
      report = failure_->report;
    }
    on_outcome(slot.attempt.lane, report, now());
  }

  void finish() {
    rest();
    operation_.reset();
    if (verdict_ == Verdict::success) return on_end({*std::move(value_), call().attempts()});
    on_end({verdict_, std::move(failure_), call().attempts()});
  }

  // One whose record can be written over, if there is one: a retry may be sent while the attempt
  // before it is still on the stack.
  Slot& take_slot() {
    Slot* free = nullptr;
    const auto look = [&free](Slot& slot) {
      if (slot.taken) return false;
      free = &slot;
      return slot.inherited.find_unshared() != nullptr;
    };
    if (std::ranges::any_of(slots_, look) || std::ranges::any_of(more_slots_, look)) {
      return taken(*free);
    }
    return taken(free != nullptr ? *free : more_slots_.emplace_front());
  }
  static Slot& taken(Slot& slot) {
    slot.taken = true;
    return slot;
  }

  // What the attempt's scope says; in the record of the last one there, if that is unshared.
  const SharedRequestContext& inherit(Slot& slot) {
    RequestContext* record = slot.inherited.find_unshared();
    if (record == nullptr) {
      slot.inherited = SharedRequestContext(inherited_);
      record = slot.inherited.find_unshared();
    }
    record->deadline = schedule::Deadline(slot.attempt.deadline);
    if (call().owns_retries()) record->attempt = slot.attempt.number;
    return slot.inherited;
  }

  const std::stop_token stop_;
  const RequestContext inherited_;
  std::optional<Operation> operation_;  // none when the call has ended
  std::array<Slot, engine::kLanes> slots_;
  std::forward_list<Slot> more_slots_;  // for those that linger
  std::array<Slot*, engine::kLanes> lanes_{};
  int running_ = 0;
  Verdict verdict_ = Verdict::none;
  std::optional<Value> value_;
  std::optional<Failure> failure_;  // the last one that was asked for
};

}  // namespace damper::run
