#include "damper/engine/call.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/random.h"
#include "damper/schedule/adaptive_timeout.h"
#include "damper/schedule/hedge.h"

namespace damper::engine {
namespace {

using decide::Outcome;

// Whether the latency says how long the dependency takes. A quick failure does not; a timeout says
// "at least so long", and leaving it out would let a timeout that follows the quantile shrink.
constexpr bool tells_latency(Outcome outcome) noexcept {
  return outcome == Outcome::success || outcome == Outcome::timeout;
}

}  // namespace

// The path of a healthy call through start() and on_success() is written out, without detours: it
// is paid by every call. What is rare is beside it.
const Step& Call::start(Instant now, double draw) noexcept {
  dependency_.counters_.on_start();
  draw_ = draw;
  const Instant from = std::min(now, arrived_);
  deadline_ = deadline_.earlier(schedule::Deadline::in(terms_.timeout, from)).less(terms_.reserve);
  if (!terms_.plain || !deadline_.fits(now, terms_.needed)) [[unlikely]] {
    return start_rarely(now, draw);
  }
  Lane& lane = lanes_[0];
  if (terms_.has_breaker) {
    lane.permit = dependency_.breaker_.try_admit(now, draw);
    if (lane.permit.half_opened) [[unlikely]]
      dependency_.emit(EventKind::breaker_half_open, now);
    if (!lane.permit.admitted) [[unlikely]]
      return refuse_first(Verdict::breaker_open, now);
  }
  dependency_.budget_.on_request(now);
  lane.sent = now;
  lane.deadline = deadline_.at();
  lane.hedge = false;
  lane.paid = false;
  active_ = 1;
  attempts_ = 1;
  step_.sends = true;
  step_.wake = lane.deadline;
  step_.attempt.number = 1;
  step_.attempt.sent = now;
  step_.attempt.deadline = lane.deadline;
  return step_;
}

const Step& Call::on_success(int lane, Instant now) noexcept {
  const auto place = static_cast<std::size_t>(lane);
  if (!terms_.plain || attempts_ != 1) [[unlikely]] {
    settle(place, Outcome::success, now, draw_);
    if (active_ != 0 || lanes_[place].hedge) on_hedge_race(lanes_[place], now);
    return finish(Verdict::success, now);
  }
  DAMPER_CHECK(place == 0 && active_ == 1);
  const Duration latency = std::max(Duration{0}, between(lanes_[0].sent, now));
  dependency_.latencies_.record(latency, now);
  if (terms_.has_breaker) {
    const auto transition = dependency_.breaker_.on_success(lanes_[0].permit, latency, now, draw_);
    if (transition != admit::Transition::none) [[unlikely]]
      dependency_.on_breaker(transition, now);
  }
  dependency_.on_success(now);
  dependency_.counters_.on_finish(Verdict::success);
  active_ = 0;
  step_.verdict = Verdict::success;
  step_.sends = false;
  return step_;
}

const Step& Call::start_rarely(Instant now, double draw) noexcept {
  if (deadline_.passed(now)) return refuse_first(Verdict::deadline_passed, now);
  if (!deadline_.fits(now, terms_.needed)) return refuse_first(Verdict::deadline_too_close, now);
  Permit permit;
  if (const Verdict verdict = try_enter(now, draw, permit); verdict != Verdict::none) {
    return refuse_first(verdict, now);
  }
  budget_of(terms_.hedges).on_request(now);
  return send(now, permit, nullptr, false);
}

const Step& Call::refuse_first(Verdict verdict, Instant now) noexcept {
  dependency_.counters_.on_unsent();
  return finish(verdict, now);
}

// Asks those that admit an attempt for good: breaker, limit, throttle. A refusal leaves no trace
// with those that were asked before; the throttle is last, since it counts whom it refuses.
Verdict Call::try_enter(Instant now, double draw, Permit& permit) noexcept {
  if (terms_.has_breaker) {
    permit = dependency_.breaker_.try_admit(now, draw);
    if (permit.half_opened) dependency_.emit(EventKind::breaker_half_open, now);
    if (!permit.admitted) return Verdict::breaker_open;
  }
  Verdict verdict = Verdict::none;
  if (terms_.has_limit && !dependency_.limit_.try_acquire()) {
    verdict = Verdict::limited;
  } else if (terms_.has_throttle && !dependency_.throttle_.try_admit(now, another_draw(draw))) {
    verdict = Verdict::throttled;
    if (terms_.has_limit) dependency_.limit_.release_ignored();
  }
  if (verdict != Verdict::none && terms_.has_breaker) dependency_.breaker_.on_cancel(permit, now);
  return verdict;
}

Duration Call::timeout_of_attempt(Instant now) noexcept {
  const Duration configured =
      terms_.per_try_timeout > Duration{0} ? terms_.per_try_timeout : deadline_.remaining(now);
  if (!terms_.adapts) [[likely]]
    return configured;
  const CallPolicy policy = dependency_.policy();
  return schedule::attempt_timeout(policy.adaptive_timeout, configured,
                                   dependency_.live_timeout(policy, now));
}

const Step& Call::send(Instant now, Permit permit, const Grant* grant, bool hedge) noexcept {
  const auto place = static_cast<std::size_t>(std::countr_one(active_));
  DAMPER_CHECK(place < lanes_.size());
  // Field by field, here and below: a struct that is put together and then copied stalls the
  // processor for longer than all else that is done here.
  Lane& lane = lanes_[place];
  lane.sent = now;
  lane.deadline = deadline_.at();
  if (terms_.per_try_timeout > Duration{0} || terms_.adapts) {
    lane.deadline = std::min(lane.deadline, add(now, timeout_of_attempt(now)));
  }
  lane.permit = permit;
  lane.hedge = hedge;
  lane.paid = grant != nullptr;
  if (grant != nullptr) lane.grant = *grant;
  active_ = static_cast<std::uint8_t>(active_ | 1U << place);
  ++attempts_;
  if (may_hedge()) [[unlikely]]
    plan_hedge(now);
  (void)wait();
  step_.sends = true;
  step_.attempt.number = attempts_;
  step_.attempt.lane = static_cast<std::uint8_t>(place);
  step_.attempt.hedge = hedge;
  step_.attempt.sent = now;
  step_.attempt.deadline = lane.deadline;
  return step_;
}

const Step& Call::on_outcome(int lane, const decide::Report& report, Instant now,
                             double draw) noexcept {
  if (report.outcome == Outcome::success) return on_success(lane, now);
  settle(static_cast<std::size_t>(lane), report.outcome, now, draw);
  if (report.server_said_when()) not_before_ = std::max(not_before_, add(now, report.retry_after));
  return decide_next(report, now, draw);
}

// An attempt failed: whether the call is over, waits for another attempt that is under way, or
// retries. An answer that cannot change ends it; a refusal does not, while another attempt may
// still succeed: a hedge must not make things worse.
const Step& Call::decide_next(const decide::Report& report, Instant now, double draw) noexcept {
  const Verdict verdict = judge(report);
  if (verdict == Verdict::permanent || verdict == Verdict::conflict) return finish(verdict, now);
  if (refused_with_ == Verdict::none) refused_with_ = verdict;
  if (active_ != 0) {
    if (refused_with_ != Verdict::none) hedge_at_ = kNever;
    return wait();
  }
  if (refused_with_ != Verdict::none) return finish(refused_with_, now);
  return retry(report, now, draw);
}

// A success decided a race. What a hedge overtook took at least so long; without these latencies
// the quantile that plans the hedges would only ever see the quick ones.
void Call::on_hedge_race(const Lane& winner, Instant now) noexcept {
  if (winner.hedge) dependency_.counters_.on_hedge_won();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!is_active(i) || lanes_[i].sent >= winner.sent) continue;
    dependency_.latencies_.record(between(lanes_[i].sent, now), now);
  }
}

// Tells everybody who admitted the attempt how it went.
void Call::settle(std::size_t place, Outcome outcome, Instant now, double draw) noexcept {
  DAMPER_CHECK(place < lanes_.size() && is_active(place));
  const Lane& lane = lanes_[place];
  active_ = static_cast<std::uint8_t>(active_ & ~(1U << place));
  const Duration latency = std::max(Duration{0}, between(lane.sent, now));
  if (tells_latency(outcome)) dependency_.latencies_.record(latency, now);
  if (lane.paid) [[unlikely]]
    budget_of(lane.hedge).on_retry_done(lane.grant);
  if (terms_.has_breaker) {
    admit::CircuitBreaker& breaker = dependency_.breaker_;
    if (outcome == Outcome::cancelled) {
      breaker.on_cancel(lane.permit, now);
    } else if (decide::is_failure(outcome)) {
      dependency_.on_breaker(breaker.on_failure(lane.permit, latency, now, draw), now);
    } else {
      dependency_.on_breaker(breaker.on_success(lane.permit, latency, now, draw), now);
    }
  }
  if (terms_.has_limit) {
    if (outcome == Outcome::timeout || outcome == Outcome::overload) {
      dependency_.limit_.release(lane.sent, now, true);
    } else if (outcome == Outcome::cancelled || decide::is_failure(outcome)) {
      dependency_.limit_.release_ignored();
    } else {
      dependency_.limit_.release(lane.sent, now, false);
    }
  }
  if (outcome == Outcome::cancelled) {
    if (terms_.has_throttle) dependency_.throttle_.on_cancel(lane.sent);
    return;
  }
  if (decide::is_failure(outcome)) {
    dependency_.on_failure(now);
    return;
  }
  if (terms_.has_throttle) dependency_.throttle_.on_accept(now);
  if (outcome == Outcome::success) dependency_.on_success(now);
}

Verdict Call::judge(const decide::Report& report) noexcept {
  request_.retryable = dependency_.policy().retryable;
  return decide::judge(report, request_);
}

// An attempt failed in a way that another one could mend. The order is the contract.
const Step& Call::retry(const decide::Report& report, Instant now, double draw) noexcept {
  const CallPolicy policy = dependency_.policy();
  if (attempts_ >= static_cast<std::uint32_t>(policy.max_attempts)) {
    return finish(Verdict::attempts_spent, now);
  }
  // From when the server said, if it said: jitter is added to that, never subtracted.
  const Instant next =
      add(std::max(now, not_before_), backoff_.next(policy.backoff, retries_, draw));
  if (deadline_.passed(now)) return finish(Verdict::deadline_passed, now);
  if (!deadline_.fits(next, terms_.needed)) return finish(Verdict::deadline_too_close, now);
  if (dependency_.switches_.retries_off(now)) return finish(Verdict::switched_off, now);
  if (terms_.has_breaker && dependency_.breaker_.state(now) == admit::BreakerState::open) {
    return finish(Verdict::breaker_open, now);
  }
  // Both are asked again when the retry leaves: this saves waiting for what is refused already.
  if (terms_.has_throttle && another_draw(draw) < dependency_.throttle_.reject_probability(now)) {
    return finish(Verdict::throttled, now);
  }
  grant_ = dependency_.budget_.try_withdraw(now, dependency_.counters_.in_flight());
  if (!grant_) {  // Asked last: a refusal costs nothing.
    dependency_.on_budget_refusal(now);
    return finish(Verdict::budget_spent, now);
  }
  failed_with_ = report.outcome;
  retry_at_ = next;
  hedge_at_ = kNever;  // There is nothing to hedge while it waits.
  if (++retries_ > 1 && dependency_.growing_.broken_by(now)) {
    dependency_.emit(EventKind::backoff_growing, now, retries_, between(now, next));
  }
  return wait();
}

const Step& Call::on_timer(Instant now, double draw) noexcept {
  if (retry_at_ != kNever) {
    if (dependency_.switches_.retries_off(now)) return finish(Verdict::switched_off, now);
    return now < retry_at_ ? wait() : send_retry(now, draw);
  }
  if (deadline_.passed(now)) {
    return finish(Verdict::deadline_passed, now, Outcome::timeout, draw);
  }
  std::uint8_t timed_out = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!is_active(i) || now < lanes_[i].deadline) continue;
    settle(i, Outcome::timeout, now, draw);
    timed_out = static_cast<std::uint8_t>(timed_out | 1U << i);
  }
  if (timed_out != 0 && active_ == 0) {
    (void)decide_next({.outcome = Outcome::timeout}, now, draw);
  } else {
    (void)(now < hedge_at_ ? wait() : hedge(now, draw));
  }
  step_.cancels = static_cast<std::uint8_t>(step_.cancels | timed_out);
  return step_;
}

const Step& Call::send_retry(Instant now, double draw) noexcept {
  if (!deadline_.fits(now, terms_.needed)) {  // Woken late.
    return finish(Verdict::deadline_too_close, now);
  }
  Permit permit;
  if (const Verdict verdict = try_enter(now, draw, permit); verdict != Verdict::none) {
    return finish(verdict, now);
  }
  retry_at_ = kNever;
  dependency_.counters_.on_retry(failed_with_);
  const Grant paid = std::exchange(grant_, {});
  return send(now, permit, &paid, false);
}

// When the next hedge is due, if there is to be one.
void Call::plan_hedge(Instant now) noexcept {
  hedge_at_ = kNever;
  const CallPolicy policy = dependency_.policy();
  if (attempts_ >= static_cast<std::uint32_t>(policy.max_attempts) ||
      std::popcount(active_) > policy.hedge.max_hedges) {
    return;
  }
  const auto delay = schedule::hedge_delay(policy.hedge, dependency_.live_hedge(policy, now),
                                           deadline_.remaining(now));
  if (delay) hedge_at_ = add(now, *delay);
}

const Step& Call::hedge(Instant now, double draw) noexcept {
  hedge_at_ = kNever;
  Permit permit;
  Grant grant;
  if (try_hedge(now, draw, permit, grant) != Verdict::none) {
    dependency_.counters_.on_hedge_suppressed();
    return wait();
  }
  dependency_.counters_.on_hedge();
  return send(now, permit, &grant, true);
}

// A hedge is extra load: in any kind of trouble it is the first thing to go without.
Verdict Call::try_hedge(Instant now, double draw, Permit& permit, Grant& grant) noexcept {
  if (request_.unrepeatable) return Verdict::unrepeatable;
  if (!deadline_.fits(now, terms_.needed)) return Verdict::deadline_too_close;
  if (now < not_before_) return Verdict::pushed_back;
  if (dependency_.switches_.hedging_off(now)) return Verdict::switched_off;
  if (terms_.has_breaker && !dependency_.breaker_.calm(now)) return Verdict::breaker_open;
  if (terms_.has_throttle && dependency_.throttle_.active(now)) return Verdict::throttled;
  grant = budget_of(true).try_withdraw(now, dependency_.counters_.in_flight());
  if (!grant) return Verdict::budget_spent;
  const Verdict verdict = try_enter(now, draw, permit);
  if (verdict != Verdict::none) budget_of(true).refund(grant);
  return verdict;
}

const Step& Call::on_cancel(Instant now) noexcept {
  if (attempts_ > 0) return finish(Verdict::cancelled, now);
  dependency_.counters_.on_start();
  return refuse_first(Verdict::cancelled, now);
}

const Step& Call::wait() noexcept {
  step_.sends = false;
  step_.cancels = 0;
  step_.wake = std::min(retry_at_, hedge_at_);
  for (std::size_t i = 0; active_ >> i != 0; ++i) {
    if (is_active(i)) step_.wake = std::min(step_.wake, lanes_[i].deadline);
  }
  return step_;
}

const Step& Call::finish(Verdict verdict, Instant now, Outcome of_the_others,
                         double draw) noexcept {
  step_.verdict = verdict;
  step_.sends = false;
  step_.cancels = active_;
  step_.wake = kNever;
  if (grant_) {
    dependency_.budget_.refund(grant_);
    grant_ = {};
  }
  for (std::size_t i = 0; active_ != 0; ++i) {
    if (is_active(i)) settle(i, of_the_others, now, draw);
  }
  dependency_.counters_.on_finish(verdict);
  return step_;
}

}  // namespace damper::engine
