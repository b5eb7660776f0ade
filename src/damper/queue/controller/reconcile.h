#ifndef DAMPER_QUEUE_CONTROLLER_RECONCILE_H_
#define DAMPER_QUEUE_CONTROLLER_RECONCILE_H_

#include <string>
#include <utility>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/queue/work_queue/finish.h"
#include "damper/run/result.h"

namespace damper {

// A Reconcile is what a reconcile function returns: how one run of a key went.
//   return damper::done();                             // as it should be
//   return damper::requeue_after(30s);                 // the same, and look again in 30 s
//   return damper::failed(Outcome::transient);         // again, after its backoff
//   return damper::failed_http(429, 2s);               // again, not before the server said
//   return damper::failed(result);                     // as a guarded call within it ended
//   return damper::terminal("no such template");       // never again, until somebody asks
//   return damper::Reconcile(damper::failed(Outcome::timeout)).because("the disk is slow");
//
// A failure is judged as any attempt is: transient, timeout, unavailable, conflict and overload run
// again; permanent, what the server pushed back and what the policy leaves out are parked, as
// terminal is. What it says in words is shown with a parked key.
class [[nodiscard]] Reconcile {
 public:
  Reconcile(const Unexpected<Failure>& failed);  // NOLINT(google-explicit-constructor)
  explicit Reconcile(queue::Finish finish) : finish_(std::move(finish)) {}

  // Says why, for people.
  [[nodiscard]] Reconcile because(std::string why) && {
    finish_.why = std::move(why);
    return std::move(*this);
  }
  [[nodiscard]] const queue::Finish& finish() const noexcept { return finish_; }

 private:
  queue::Finish finish_;
};

[[nodiscard]] Reconcile done();
// Forgets the key's failures, and runs it again after so long; 0: when the others had their turn.
[[nodiscard]] Reconcile requeue_after(Duration after);
[[nodiscard]] Reconcile terminal(std::string why);

namespace queue {

// A guarded call that ended like this, as a failure of the run around it.
[[nodiscard]] Reconcile failed_call(Verdict verdict, const Failure* failure);

// What the function threw: std::system_error by its code, anything else transient, since a run may
// be repeated. Call it inside a catch block.
[[nodiscard]] Reconcile failed_by_exception();

}  // namespace queue

// A guarded call without a value, as the failure of the run that made it. REQUIRES: !result.
template <class T>
[[nodiscard]] Reconcile failed(const CallResult<T>& result) {
  return queue::failed_call(result.verdict(), result.failure());
}

}  // namespace damper

#endif  // DAMPER_QUEUE_CONTROLLER_RECONCILE_H_
