#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/queue/work_queue/finish.h"
#include "damper/run/result.h"

namespace damper {

// A RunContext is the second, optional parameter of a reconcile function. It lives for one run.
class RunContext {
 public:
  RunContext(std::uint32_t attempt, Instant deadline, std::stop_token stop) noexcept
      : attempt_(attempt), deadline_(deadline), stop_(std::move(stop)) {}

  // The number of runs since the key's last success, this one included: from 1.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  // When the run must be over. Guarded calls in the run inherit it.
  [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
  // Set at the deadline, and when the controller stops and its grace period is over.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  std::uint32_t attempt_;
  Instant deadline_;
  std::stop_token stop_;
};

// A Reconcile is the return value of a reconcile function: the result of one run of a key.
//   return damper::done();                             // the key is as it should be
//   return damper::requeue_after(30s);                 // the same, and run it again in 30 s
//   return damper::failed(Outcome::transient);         // retry after the key's backoff
//   return damper::failed_http(429, 2s);               // retry, not before the server's time
//   return damper::failed(result);                     // fail as a guarded call in the run did
//   return damper::terminal("no such template");       // park: run only if added or revived
//   return damper::Reconcile(damper::failed(Outcome::timeout)).because("the disk is slow");
//
// A failure is judged as an attempt of a call is: transient, timeout, unavailable, conflict and
// overload are retried; permanent failures, server push-back and outcomes that the policy does not
// retry are parked, as terminal is. The text of because() is shown with a parked key.
class [[nodiscard]] Reconcile {
 public:
  Reconcile(const Unexpected<Failure>& failed);  // NOLINT(google-explicit-constructor)
  explicit Reconcile(queue::Finish finish) : finish_(std::move(finish)) {}

  // Sets the reason that operators see.
  [[nodiscard]] Reconcile because(std::string why) && {
    finish_.why = std::move(why);
    return std::move(*this);
  }
  [[nodiscard]] const queue::Finish& finish() const noexcept { return finish_; }

 private:
  queue::Finish finish_;
};

[[nodiscard]] Reconcile done();
// Clears the key's failures and runs it again after `after`; 0: behind the keys that are ready now.
[[nodiscard]] Reconcile requeue_after(Duration after);
[[nodiscard]] Reconcile terminal(std::string why);

namespace queue {

// The failure of a run whose guarded call ended with `verdict`.
[[nodiscard]] Reconcile failed_call(Verdict verdict, const Failure* failure);

// The failure of a run that threw: a std::system_error is classified by its code, any other
// exception is transient. REQUIRES: it is called in a catch block.
[[nodiscard]] Reconcile failed_by_exception();

}  // namespace queue

// The failure of a run whose guarded call returned `result`. REQUIRES: !result.
template <class T>
[[nodiscard]] Reconcile failed(const CallResult<T>& result) {
  return queue::failed_call(result.verdict(), result.failure());
}

}  // namespace damper
