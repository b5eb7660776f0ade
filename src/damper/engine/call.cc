#include "damper/engine/call.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/random.h"
#include "damper/schedule/adaptive_timeout.h"

namespace damper::engine {
namespace {

using decide::Outcome;

// Whether the latency of an attempt is recorded. That of a quick failure is not; a timeout is a
// lower bound, and without it a timeout that follows the quantile would shrink.
constexpr bool has_latency(Outcome outcome) noexcept {
  return outcome == Outcome::success || outcome == Outcome::timeout;
}

}  // namespace

// The path of a healthy call through start() and on_success() is written out: through try_enter(),
// send() and settle() a call that succeeds takes 50 ns instead of 30 (BM_CallThatSucceeds). The
// general path is start_general(); the tests of Call cover both.
template <Footprint kFootprint>
void BasicCall<kFootprint>::start(Instant now, double draw) noexcept {
  dependency_.counters_.on_start();
  first_draw_ = draw;
  const Instant from = std::min(now, begin_);
  begin_ = now;
  const schedule::Deadline own = schedule::Deadline::in(terms_.timeout, from);
  stranger_cuts_ = stranger_cuts_ && deadline_.at() < own.at();
  deadline_ = deadline_.earlier(own).less(terms_.reserve);
  if (!terms_.plain || !deadline_.fits(now, terms_.needed)) [[unlikely]] {
    return start_general(now, draw);
  }
  Lane& lane = lanes_[0];
  if (terms_.has_breaker) {
    lane.permit = dependency_.breaker_.try_admit(now, draw);
    if (lane.permit.moved()) [[unlikely]]
      dependency_.on_breaker(lane.permit, now);
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
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_success(int lane, Instant now) noexcept {
  const auto index = static_cast<std::size_t>(lane);
  if (!terms_.plain || attempts_ != 1 || uploaded_ != Instant::min()) [[unlikely]] {
    settle(index, Outcome::success, now, first_draw_);
    if (active_ != 0 || lanes_[index].hedge) on_hedge_race(lanes_[index], now);
    return finish(Verdict::success, now);
  }
  DAMPER_CHECK(index == 0 && active_ == 1);
  const Duration latency = std::max(Duration{0}, between(lanes_[0].sent, now));
  dependency_.latencies_.record(latency, now);
  if (terms_.has_breaker) {
    const auto transition =
        dependency_.breaker_.on_success(lanes_[0].permit, latency, now, first_draw_);
    if (transition != admit::Transition::none) [[unlikely]]
      dependency_.on_breaker(transition, now);
  }
  dependency_.on_success(now);
  dependency_.counters_.on_finish(Verdict::success);
  active_ = 0;
  step_.verdict = Verdict::success;
  step_.sends = false;
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::start_general(Instant now, double draw) noexcept {
  if (deadline_.passed(now)) return refuse_first(Verdict::deadline_passed, now);
  send_first(now, draw);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::send_first(Instant now, double draw) noexcept {
  if (!deadline_.fits(now, terms_.needed)) return refuse_first(Verdict::deadline_too_close, now);
  Permit permit;
  if (const Verdict verdict = try_enter(now, draw, permit); verdict != Verdict::none) {
    if (verdict == Verdict::rate_limited && try_wait_for_token(now)) {
      dependency_.counters_.on_unsent();
      return wait();
    }
    return refuse_first(verdict, now);
  }
  if (retry_at_ != kNever) dependency_.counters_.on_sent_later();
  retry_at_ = kNever;
  dependency_.budget_of(terms_.hedges).on_request(now);
  send(now, permit, nullptr, false);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::refuse_first(Verdict verdict, Instant now) noexcept {
  if (retry_at_ == kNever) dependency_.counters_.on_unsent();  // Else it is since it waits.
  finish(verdict, now);
}

// Admission of an attempt by breaker, limit, throttle and rate. A refusal undoes the admissions
// before it. The throttle is after the limit, since it counts refused requests; the rate is last,
// since a token that was taken cannot be returned, only a reserved one.
template <Footprint kFootprint>
Verdict BasicCall<kFootprint>::try_enter(Instant now, double draw, Permit& permit) noexcept {
  if (terms_.has_breaker) {
    permit = dependency_.breaker_.try_admit(now, draw);
    if (permit.moved()) dependency_.on_breaker(permit, now);
    if (!permit.admitted) return Verdict::breaker_open;
  }
  Verdict verdict = Verdict::none;
  if (terms_.has_limit && !dependency_.limit_.try_acquire()) {
    verdict = Verdict::limited;
  } else if (terms_.has_throttle && !dependency_.throttle_.try_admit(now, another_draw(draw))) {
    verdict = Verdict::throttled;
    if (terms_.has_limit) dependency_.limit_.release_ignored();
  }
  if (verdict == Verdict::none && terms_.has_rate && !std::exchange(has_token_, false) &&
      !dependency_.rate().try_take(now)) {
    verdict = Verdict::rate_limited;
    if (terms_.has_limit) dependency_.limit_.release_ignored();
  }
  if (verdict != Verdict::none && terms_.has_breaker) dependency_.breaker_.on_cancel(permit, now);
  return verdict;
}

// Reserves a token for an attempt that leaves enough time for it, and sets retry_at_.
template <Footprint kFootprint>
bool BasicCall<kFootprint>::try_wait_for_token(Instant now) noexcept {
  const Duration most = deadline_.remaining(now) - terms_.needed;
  const std::optional<Duration> wait = dependency_.rate().try_reserve(now, most);
  if (!wait) return false;
  has_token_ = true;
  retry_at_ = add(now, *wait);
  return true;
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::return_token(Instant now) noexcept {
  if (std::exchange(has_token_, false)) dependency_.rate().give_back(retry_at_, now);
}

// An adaptive timeout that takes more than an eighth of the time left is not worthwhile: the next
// attempt would have too little for a request that is just slow.
template <Footprint kFootprint>
Duration BasicCall<kFootprint>::timeout_of_attempt(Instant now) noexcept {
  const Duration configured =
      terms_.per_try_timeout > Duration{0} ? terms_.per_try_timeout : deadline_.remaining(now);
  if (!terms_.adapts) [[likely]]
    return configured;
  const CallPolicy policy = dependency_.policy();
  const bool last = attempts_ + 1 >= static_cast<std::uint32_t>(policy.max_attempts);
  const Duration adapted = schedule::attempt_timeout(
      policy.adaptive_timeout, configured, dependency_.live_timeout(policy, now), retries_, last);
  return adapted <= deadline_.remaining(now) / 8
             ? adapted
             : std::min(configured, policy.adaptive_timeout.upper);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::send(Instant now, Permit permit, const Grant* grant,
                                 bool hedge) noexcept {
  const auto index = static_cast<std::size_t>(std::countr_one(active_));
  DAMPER_CHECK(index < lanes_.size());
  // Field by field, here and below: a struct that is put together and then copied stalls the
  // processor for longer than all else that is done here.
  Lane& lane = lanes_[index];
  lane.sent = now;
  lane.deadline = deadline_.at();
  if (terms_.per_try_timeout > Duration{0} || terms_.adapts) {
    lane.deadline = std::min(lane.deadline, add(now, timeout_of_attempt(now)));
  }
  lane.permit = permit;
  lane.hedge = hedge;
  lane.paid = grant != nullptr;
  if (grant != nullptr) lane.grant = *grant;
  if (incomplete_) leave(lane, now);
  active_ = static_cast<std::uint8_t>(active_ | 1U << index);
  ++attempts_;
  if (may_hedge()) [[unlikely]]
    plan_hedge(now);
  wait();
  step_.sends = true;
  step_.attempt.number = attempts_;
  step_.attempt.lane = static_cast<std::uint8_t>(index);
  step_.attempt.hedge = hedge;
  step_.attempt.sent = now;
  step_.attempt.deadline = lane.deadline;
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_outcome(int lane, const decide::Report& report, Instant now,
                                       double draw) noexcept {
  if (report.outcome == Outcome::success) return on_success(lane, now);
  const bool hedge = lanes_[static_cast<std::size_t>(lane)].hedge;
  // Of an unknown cause neither health nor a failure of the dependency follows.
  settle(static_cast<std::size_t>(lane), report.unknown ? Outcome::cancelled : report.outcome, now,
         draw);
  if (report.server_said_when()) not_before_ = std::max(not_before_, add(now, report.retry_after));
  decide_next(report, hedge, now, draw);
}

// After a failed attempt: ends the call, waits for another attempt in flight, or retries. A hedge
// must not make things worse than they are without it. So its failure, a final answer included, is
// nothing to a call whose original is in flight; and an original that failed is retried although a
// hedge is in flight. A refusal ends the call when no attempt is left that may still succeed.
template <Footprint kFootprint>
void BasicCall<kFootprint>::decide_next(const decide::Report& report, bool hedge, Instant now,
                                        double draw) noexcept {
  const CallPolicy policy = dependency_.policy();  // Once: a reload must not split a decision.
  request_.retryable = policy.retryable;
  const Verdict verdict = decide::judge(report, request_);
  const bool beside_original = hedge && has_original();
  if (verdict == Verdict::permanent || verdict == Verdict::conflict) {
    if (!beside_original) return finish(verdict, now);
    hedge_at_ = kNever;  // Another one would get the same answer.
    return wait();
  }
  if (last_refusal_ == Verdict::none) last_refusal_ = verdict;
  if (last_refusal_ != Verdict::none) {
    hedge_at_ = kNever;
    return refuse_retry(last_refusal_, now);
  }
  if (beside_original) return wait();
  if (retry_at_ == kNever) return retry(policy, report.outcome, now, draw);
  if (retry_at_ < not_before_) {  // A hedge beside the waiting retry was told when to come back.
    return_token(now);            // It is not for a later attempt.
    retry_at_ = add(not_before_, backoff_.next(policy.backoff, retries_ - 1, draw));
    if (!deadline_.fits(retry_at_, terms_.needed)) {
      return refuse_retry(Verdict::deadline_too_close, now);
    }
  }
  wait();
}

// There is no retry, or not any more. The call ends, unless a hedge in flight may still succeed.
template <Footprint kFootprint>
void BasicCall<kFootprint>::refuse_retry(Verdict verdict, Instant now) noexcept {
  if (active_ == 0) return finish(verdict, now);
  return_token(now);
  retry_at_ = kNever;
  if (grant_) dependency_.budget_.refund(std::exchange(grant_, {}));
  wait();
}

// Whether an attempt that is no hedge is in flight: the first one, or a retry.
template <Footprint kFootprint>
bool BasicCall<kFootprint>::has_original() const noexcept {
  for (std::size_t i = 0; active_ >> i != 0; ++i) {
    if (is_active(i) && !lanes_[i].hedge) return true;
  }
  return false;
}

// The time that an attempt sent at `sent` has if the caller has no deadline, and no part of the
// timeout was used before start().
template <Footprint kFootprint>
Duration BasicCall<kFootprint>::given_by_policy(Instant sent) const noexcept {
  const schedule::Deadline own =
      schedule::Deadline::in(terms_.timeout, begin_).less(terms_.reserve);
  const Duration left = own.remaining(sent);
  return terms_.per_try_timeout > Duration{0} ? std::min(left, terms_.per_try_timeout) : left;
}

// Whether the caller cut the attempt short: then its timeout is no failure of the dependency. See
// docs/design/0035.
template <Footprint kFootprint>
bool BasicCall<kFootprint>::is_cut_short(const Lane& lane) const noexcept {
  const Instant begun = std::max(lane.sent, uploaded_);
  // Without an upload, the policy's timeout of an attempt is earlier than the caller's deadline.
  const bool is_calls = lane.deadline == deadline_.at();
  if (begun == lane.sent && !is_calls) return false;
  if (is_calls && stranger_cuts_) return true;
  return schedule::is_cut_short(between(begun, lane.deadline), given_by_policy(lane.sent));
}

// Reports the outcome of an attempt to all parts that admitted it. Returns what it was to them.
template <Footprint kFootprint>
Outcome BasicCall<kFootprint>::settle(std::size_t lane, Outcome outcome, Instant now,
                                      double draw) noexcept {
  DAMPER_CHECK(lane < lanes_.size() && is_active(lane));
  const Lane& settled = lanes_[lane];
  active_ = static_cast<std::uint8_t>(active_ & ~(1U << lane));
  const bool uploads = uploaded_ == kNever;  // How long the dependency takes is unknown.
  const Instant begun = std::min(std::max(settled.sent, uploaded_), now);
  const Duration latency = std::max(Duration{0}, between(begun, now));
  const bool cut_short = outcome == Outcome::timeout && is_cut_short(settled);
  if (cut_short) {
    const bool billed = !uploads && !stranger_cuts_ &&
                        dependency_.on_cut_short(between(begun, settled.deadline),
                                                 given_by_policy(settled.sent), now);
    if (!billed) outcome = Outcome::cancelled;
  }
  // The caller's time is not recorded as a latency of the dependency, not even in an outage.
  if (has_latency(outcome) && !cut_short && !uploads) dependency_.latencies_.record(latency, now);
  if (settled.paid) [[unlikely]]
    dependency_.budget_of(settled.hedge).on_retry_done(settled.grant);
  if (terms_.has_breaker && settled.permit.admitted) {
    auto& breaker = dependency_.breaker_;
    if (outcome == Outcome::cancelled) {
      breaker.on_cancel(settled.permit, now);
    } else if (decide::is_failure(outcome)) {
      dependency_.on_breaker(breaker.on_failure(settled.permit, latency, now, draw), now);
    } else {
      dependency_.on_breaker(breaker.on_success(settled.permit, latency, now, draw), now);
    }
  }
  if (terms_.has_limit && !incomplete_) {
    if (outcome == Outcome::timeout || outcome == Outcome::overload) {
      dependency_.limit_.release(begun, now, true);
    } else if (outcome == Outcome::cancelled || decide::is_failure(outcome) || uploads) {
      dependency_.limit_.release_ignored();
    } else {
      dependency_.limit_.release(begun, now, false);
    }
  }
  if (outcome == Outcome::cancelled) return outcome;
  if (decide::is_failure(outcome)) {
    if (terms_.has_throttle) dependency_.throttle_.on_reject(now);
    dependency_.on_failure(now);
    return outcome;
  }
  if (terms_.has_throttle) dependency_.throttle_.on_accept(now);
  if (outcome == Outcome::success) {
    dependency_.on_success(now);
  } else {
    dependency_.streak_.on_answer();
  }
  return outcome;
}

// An attempt failed and another one may succeed. The order of the checks is the contract.
template <Footprint kFootprint>
void BasicCall<kFootprint>::retry(const CallPolicy& policy, Outcome why, Instant now,
                                  double draw) noexcept {
  if (attempts_ >= static_cast<std::uint32_t>(policy.max_attempts)) {
    return refuse_retry(Verdict::attempts_spent, now);
  }
  // From the server's Retry-After, if there is one: jitter is added to it, never subtracted.
  const Instant next =
      add(std::max(now, not_before_), backoff_.next(policy.backoff, retries_, draw));
  if (deadline_.passed(now)) return refuse_retry(Verdict::deadline_passed, now);
  if (!deadline_.fits(next, terms_.needed)) return refuse_retry(Verdict::deadline_too_close, now);
  if (dependency_.switches_.off(admit::Switch::retries, now))
    return refuse_retry(Verdict::switched_off, now);
  if (terms_.has_breaker && dependency_.breaker_.state(now) == admit::BreakerState::open) {
    return refuse_retry(Verdict::breaker_open, now);
  }
  // Both are checked again when the retry is sent; a refusal now saves the wait.
  if (terms_.has_throttle && another_draw(draw) < dependency_.throttle_.reject_probability(now)) {
    return refuse_retry(Verdict::throttled, now);
  }
  grant_ = dependency_.budget_.try_withdraw(now, dependency_.counters_.in_flight());
  if (!grant_) {  // Last: a refusal before it costs nothing.
    dependency_.on_budget_refusal(now);
    return refuse_retry(Verdict::budget_spent, now);
  }
  retry_reason_ = why;
  retry_at_ = next;
  hedge_at_ = kNever;  // The retry takes its turn.
  if (++retries_ > 1 && dependency_.growing_.broken_by(now)) {
    dependency_.emit(EventKind::backoff_growing, now, retries_, between(now, next));
  }
  wait();
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_timer(Instant now, double draw) noexcept {
  if (attempts_ == 0) return now < retry_at_ ? wait() : send_first(now, draw);
  if (retry_at_ != kNever && dependency_.switches_.off(admit::Switch::retries, now)) {
    return refuse_retry(Verdict::switched_off, now);
  }
  if (active_ == 0) return now < retry_at_ ? wait() : send_retry(now, draw);
  if (deadline_.passed(now)) {
    return finish(Verdict::deadline_passed, now, Outcome::timeout, draw);
  }
  std::uint8_t timed_out = 0;
  std::uint8_t timeouts = 0;
  bool original = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!is_active(i) || now < lanes_[i].deadline) continue;
    original = original || !lanes_[i].hedge;
    const bool billed = settle(i, Outcome::timeout, now, draw) == Outcome::timeout;
    timed_out = static_cast<std::uint8_t>(timed_out | 1U << i);
    if (billed) timeouts = static_cast<std::uint8_t>(timeouts | 1U << i);
  }
  if (original || active_ == 0) {
    decide_next({.outcome = Outcome::timeout}, !original, now, draw);
  } else if (now >= retry_at_) {
    send_retry(now, draw);
  } else if (now < hedge_at_) {
    wait();
  } else {
    hedge(now, draw);
  }
  step_.cancels = static_cast<std::uint8_t>(step_.cancels | timed_out);
  step_.timeouts = static_cast<std::uint8_t>(step_.timeouts | timeouts);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::send_retry(Instant now, double draw) noexcept {
  // The body was spent by the hedge that the retry waited beside.
  if (request_.unrepeatable) return refuse_retry(Verdict::unrepeatable, now);
  if (!deadline_.fits(now, terms_.needed)) {  // Woken late.
    return refuse_retry(Verdict::deadline_too_close, now);
  }
  Permit permit;
  if (const Verdict verdict = try_enter(now, draw, permit); verdict != Verdict::none) {
    if (verdict == Verdict::rate_limited && try_wait_for_token(now)) return wait();
    return refuse_retry(verdict, now);
  }
  retry_at_ = kNever;
  dependency_.counters_.on_retry(retry_reason_);
  const Grant paid = std::exchange(grant_, {});
  send(now, permit, &paid, false);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::on_cancel(Instant now) noexcept {
  if (attempts_ > 0) return finish(Verdict::cancelled, now);
  if (!has_token_) dependency_.counters_.on_start();  // Else it was started, and waits.
  refuse_first(Verdict::cancelled, now);
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::wait() noexcept {
  step_.sends = false;
  step_.cancels = 0;
  step_.timeouts = 0;
  step_.wake = std::min(retry_at_, hedge_at_);
  for (std::size_t i = 0; active_ >> i != 0; ++i) {
    if (is_active(i)) step_.wake = std::min(step_.wake, lanes_[i].deadline);
  }
}

template <Footprint kFootprint>
void BasicCall<kFootprint>::finish(Verdict verdict, Instant now, Outcome of_the_others,
                                   double draw) noexcept {
  step_.verdict = verdict;
  step_.sends = false;
  step_.cancels = active_;
  step_.timeouts = 0;
  step_.wake = kNever;
  return_token(now);
  if (grant_) {
    dependency_.budget_.refund(grant_);
    grant_ = {};
  }
  for (std::size_t i = 0; active_ != 0; ++i) {
    if (!is_active(i)) continue;
    const bool billed = settle(i, of_the_others, now, draw) == Outcome::timeout;
    if (billed) step_.timeouts = static_cast<std::uint8_t>(step_.timeouts | 1U << i);
  }
  dependency_.counters_.on_finish(verdict);
}

template class BasicCall<Footprint::large>;
template class BasicCall<Footprint::small>;

}  // namespace damper::engine
