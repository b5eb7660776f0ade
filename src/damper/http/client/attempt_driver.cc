#include "damper/http/client/attempt_driver.h"

#include <utility>

#include "damper/run/clock.h"

namespace damper::http {

using decide::Outcome;

void ReplicaLease::settle(Outcome outcome, Instant now) noexcept {
  if (pool_ == nullptr) return;
  replicas_->settle(lease_, outcome, now, run::draw());
  std::exchange(pool_, nullptr)->on_lease_settled();
}

void AttemptDriver::send(const engine::Attempt& attempt) {
  ReplicaSet in_use;
  for (const LeasedAttempt* const other : in_flight_) {
    if (other != nullptr) in_use.set(other->lease_.replica());
  }
  const ReplicaLease lease = pick(tried_, in_use, attempt.sent);
  if (!lease) return on_outcome(attempt.lane, on_no_replica(), attempt.sent);
  LeasedAttempt& next = free_attempt();
  next.attempt_ = attempt;
  next.lease_ = lease;
  in_flight_[attempt.lane] = &next;
  next.start();
}

void AttemptDriver::give_up(int lane) {
  LeasedAttempt* const attempt = std::exchange(in_flight_[static_cast<std::size_t>(lane)], nullptr);
  if (attempt == nullptr) return;
  const Instant now = waiting_.loop().now();
  const bool late = now >= attempt->attempt_.deadline;
  attempt->lease_.settle(late ? Outcome::timeout : Outcome::cancelled, now);
  attempt->give_up(late);
}

void AttemptDriver::wake_at(Instant when) {
  arm(when);
  if (CallDriver::is_waiting() == Waiter::is_waiting()) return;
  CallDriver::is_waiting() ? waiting_.add(*this) : waiting_.remove(*this);
}

}  // namespace damper::http
