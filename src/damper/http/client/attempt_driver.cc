#include "damper/http/client/attempt_driver.h"

#include <utility>

#include "damper/base/check.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::http {

// Is called for flips on any thread, and posts WaitingLine::on_flip() to its loop.
class WaitingLine::FlipObserver final : public run::WaitingCall,
                                        public std::enable_shared_from_this<FlipObserver> {
 public:
  explicit FlipObserver(WaitingLine& line) : line_(&line), loop_(line.loop_) {}

  void stop() {
    run::WaitingCalls::of_process().remove(*this);
    line_ = nullptr;
  }

 private:
  void on_flip() noexcept override {
    loop_.post([observer = weak_from_this()] {
      const std::shared_ptr<FlipObserver> alive = observer.lock();
      if (alive != nullptr && alive->line_ != nullptr) alive->line_->on_flip();
    });
  }

  WaitingLine* line_;  // used on the loop's thread alone
  Loop& loop_;
};

WaitingLine::WaitingLine(Loop& loop)
    : loop_(loop), observer_(std::make_shared<FlipObserver>(*this)) {}

WaitingLine::~WaitingLine() { observer_->stop(); }

void WaitingLine::add(Waiter& waiter) {
  DAMPER_CHECK(!waiter.is_waiting());
  if (waiters_.empty()) run::WaitingCalls::of_process().add(*observer_);
  waiter.flips_seen_ = flips_;
  waiters_.push_back(waiter);
  waiter.on_flip(loop_.now());  // After it was added: a flip in between is not missed.
}

void WaitingLine::remove(Waiter& waiter) {
  if (!waiter.is_waiting()) return;
  waiters_.erase(Waiters::s_iterator_to(waiter));
  if (waiters_.empty()) run::WaitingCalls::of_process().remove(*observer_);
}

// Calls that saw this flip are moved to the end of the line, behind which new ones are added.
void WaitingLine::on_flip() {
  ++flips_;
  while (!waiters_.empty() && waiters_.front().flips_seen_ != flips_) {
    Waiter& waiter = waiters_.front();
    waiter.flips_seen_ = flips_;
    waiters_.splice(waiters_.end(), waiters_, waiters_.begin());
    waiter.on_flip(loop_.now());
  }
}

using decide::Outcome;

void ReplicaLease::settle(Outcome outcome, Instant now) noexcept {
  if (pool_ == nullptr) return;
  replicas_->settle(lease_, outcome, now, run::draw());
  std::exchange(pool_, nullptr)->on_lease_settled();
}

void AttemptDriver::send(const engine::Attempt& attempt) {
  balance::ReplicaSet in_use;
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
  const bool billed = (call().step().timeouts >> lane & 1) != 0;
  attempt->lease_.settle(billed ? Outcome::timeout : Outcome::cancelled, now);
  attempt->give_up(late);
}

void AttemptDriver::wake_at(Instant when) {
  arm(when);
  if (CallDriver::is_waiting() == Waiter::is_waiting()) return;
  CallDriver::is_waiting() ? waiting_.add(*this) : waiting_.remove(*this);
}

}  // namespace damper::http
