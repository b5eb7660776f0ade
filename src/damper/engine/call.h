#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/retry_budget.h"
#include "damper/decide/judge.h"
#include "damper/decide/outcome.h"
#include "damper/engine/dependency.h"
#include "damper/engine/step.h"
#include "damper/schedule/backoff.h"
#include "damper/schedule/deadline.h"

namespace damper::engine {

// The options of one call; the rest is the policy's.
struct CallOptions {
  decide::Request request{};      // its `retryable` is the policy's, and not read here
  schedule::Deadline deadline{};  // the caller's; the policy's timeout holds as well
  Instant arrived = kNever;  // of the request's first byte, from which the timeout counts; kNever:
                             // from start()
  bool from_stranger = false;  // An attempt that a stranger's deadline ends is never a failure.
};

// A Call is one operation on a dependency with all its attempts: a state machine without I/O. Its
// inputs are events (an outcome, a timer, a cancellation) with their time and a random draw; step()
// is what the driver does next. Every driver of the tree drives this one; no driver decides
// anything about retrying.
//
// Model: a failed attempt is followed by another if all of these agree, in this order: the outcome
// (decide::judge: classification, idempotency, layering), the attempt cap, the schedule, the
// deadline, the switches, the breaker, the throttle, and the budget last, since only the budget is
// charged. While an attempt of a safe request (a read) runs late, a hedge may join it, under the
// same conditions; the first success wins and the others are cancelled. Only a success of a hedge
// counts while an attempt that is no hedge is in flight: a final answer of a hedge (permanent,
// conflict) does not end the call, and the original decides. If the original fails and a hedge is
// in flight, the retry is planned beside the hedge, and the two race.
// Invariants:
//   (1) A call ends with exactly one verdict, by its deadline if it is driven on time.
//   (2) A retry is never sent earlier than the server's Retry-After, nor after a switch has turned
//       retries off.
//   (3) A refused or unsent retry is refunded.
//   (4) Each admitted attempt is settled once: breaker, limit, throttle and budget all get its
//       outcome.
//   (5) If the policy has a rate, each attempt takes one token when it is sent or reserves one
//       before. An attempt that finds none in time is refused without an effect on any other part.
//       A reserved token that is not used is given back.
//   (6) A timeout of an attempt that the caller's deadline, or the caller's late start, left less
//       than nearly all of the time that the policy gives is a cancellation to breaker, limit,
//       throttle, latencies and failure streak, unless the dependency answers nothing at all: see
//       BasicDependency::on_cut_short(); a stranger's always is. To the call it is a timeout.
//   (7) An attempt's time at the dependency excludes the time in which the caller was still
//       uploading the request, and a timeout during the upload is a cancellation as in (6). An
//       incomplete request is not hedged.
//   (8) An attempt whose request is incomplete holds no slot of the limit and no probe's lease.
//       Breaker and limit decide twice about such a request: at its start, and when it is complete.
// Thread safety: none; one call, one driver. Calls share their dependency safely.
// Cost: no allocation; at most 512 bytes.
template <Footprint kFootprint>
class BasicCall {
 public:
  using Dependency = BasicDependency<kFootprint>;

  // The dependency outlives the call.
  BasicCall(Dependency& dependency, const CallOptions& options) noexcept
      : dependency_(dependency),
        terms_(dependency.terms()),
        request_(options.request),
        deadline_(options.deadline),
        begin_(options.arrived),
        stranger_cuts_(options.from_stranger) {}

  // What the driver does next: the result of the last input. The reference stays valid, and the
  // next input changes the step that it refers to.
  [[nodiscard]] const Step& step() const noexcept { return step_; }

  // The inputs; each makes a new step(). REQUIRES: start() is the first, once; none follows a step
  // that is over(); `lane` is that of a sent attempt without an outcome that was not cancelled;
  // 0 <= draw < 1, a new one each time.
  void start(Instant now, double draw) noexcept;
  void on_outcome(int lane, const decide::Report& report, Instant now, double draw) noexcept;
  // on_outcome() with a success, which needs no draw.
  void on_success(int lane, Instant now) noexcept;
  // The time is step().wake, or a switch was flipped; an early call is harmless.
  void on_timer(Instant now, double draw) noexcept;
  // The caller gives up; allowed before start(), too.
  void on_cancel(Instant now) noexcept;
  // The request cannot be sent again: a part of its body was sent and is not kept. Attempts in
  // flight continue; no other one is sent. It makes no new step. REQUIRES: an attempt is in flight.
  void on_unrepeatable() noexcept { request_.unrepeatable = true; }
  // The dependency has all of the request that has arrived, and the caller has not sent the rest;
  // allowed before start(), too. The time is the caller's from here on, and the request is
  // incomplete. It makes no new step.
  void on_upload_awaited(Instant now) noexcept;
  // The dependency does not take all that has arrived: the time is its own. It makes no new step.
  void on_upload_blocked(Instant now) noexcept;
  // The request is complete, and its end is not sent yet: attempts in flight take their slots and
  // leases. If they are refused, the call ends, as it would have if the request had arrived now.
  void on_upload_complete(Instant now, double draw) noexcept;

  [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }
  [[nodiscard]] schedule::Deadline deadline() const noexcept { return deadline_; }
  // Whether this call retries on its own, so that the layers below it must not.
  [[nodiscard]] bool owns_retries() const noexcept {
    return (request_.idempotent || request_.rereads) && !request_.owned_above && terms_.retries;
  }
  // The same for a request that surely was not sent, which is retried even if it is not idempotent.
  [[nodiscard]] bool owns_unsent() const noexcept {
    return !request_.owned_above && !request_.unsent_owned_above && terms_.retries;
  }
  // Whether a second attempt may run beside the first.
  [[nodiscard]] bool may_hedge() const noexcept {
    return terms_.hedges && request_.safe && request_.idempotent && !request_.rereads &&
           !request_.unrepeatable && owns_retries();
  }

 private:
  friend class ExploredCall;  // A test, which compares calls by what decides their future.

  using Permit = admit::BreakerPermit;
  using Grant = admit::RetryGrant;

  // An attempt in flight.
  struct Lane {
    Instant sent;
    Instant deadline;
    Permit permit;
    bool hedge;
    bool paid;
    Grant grant;  // if it paid
  };

  [[nodiscard]] bool is_active(std::size_t lane) const noexcept {
    return (active_ >> lane & 1) != 0;
  }
  [[nodiscard]] Duration timeout_of_attempt(Instant now) noexcept;
  void start_general(Instant now, double draw) noexcept;
  void refuse_first(Verdict verdict, Instant now) noexcept;
  void send_first(Instant now, double draw) noexcept;
  Verdict try_enter(Instant now, double draw, Permit& permit) noexcept;
  void leave(Lane& lane, Instant now) noexcept;
  void leave_breaker(Lane& lane, Instant now) noexcept;
  Verdict try_return(Instant now, double draw) noexcept;
  bool try_wait_for_token(Instant now) noexcept;
  void return_token(Instant now) noexcept;
  void send(Instant now, Permit permit, const Grant* grant, bool hedge) noexcept;
  [[nodiscard]] Duration given_by_policy(Instant sent) const noexcept;
  [[nodiscard]] bool is_cut_short(const Lane& lane) const noexcept;
  decide::Outcome settle(std::size_t lane, decide::Outcome outcome, Instant now,
                         double draw) noexcept;
  void decide_next(const decide::Report& report, bool hedge, Instant now, double draw) noexcept;
  void refuse_retry(Verdict verdict, Instant now) noexcept;
  [[nodiscard]] bool has_original() const noexcept;
  [[nodiscard]] Instant last_sent() const noexcept;
  void on_hedge_race(const Lane& winner, Instant now) noexcept;
  void retry(const CallPolicy& policy, decide::Outcome why, Instant now, double draw) noexcept;
  void send_retry(Instant now, double draw) noexcept;
  void hedge(Instant now, double draw) noexcept;
  Verdict try_hedge(Instant now, double draw, Permit& permit, Grant& grant) noexcept;
  void plan_hedge(Instant now) noexcept;
  void wait() noexcept;
  void finish(Verdict verdict, Instant now,
              decide::Outcome of_the_others = decide::Outcome::cancelled, double draw = 0) noexcept;

  Dependency& dependency_;
  Step step_;
  Terms terms_;
  decide::Request request_;
  schedule::Deadline deadline_;
  Instant begin_;  // CallOptions::arrived; from start() on, the time of start()
  schedule::Backoff backoff_;
  double first_draw_ = 0;  // the draw of start(): a success that trips the breaker as slow uses it
  std::uint32_t attempts_ = 0;
  std::uint32_t retries_ = 0;
  decide::Outcome retry_reason_ = decide::Outcome::transient;  // the outcome that the waiting retry
                                                               // follows; counted when it is sent
  std::uint8_t active_ = 0;                                    // a bit for each lane
  Verdict last_refusal_ = Verdict::none;  // ends the call when the last attempt in flight fails
  Instant uploaded_ = Instant::min();     // the end of the last upload; kNever: it continues
  Instant not_before_ = Instant::min();   // the latest Retry-After
  Instant retry_at_ = kNever;  // with no attempt so far: the first one waits for its token
  Instant hedge_at_ = kNever;
  Grant grant_;                    // of the waiting retry
  bool has_token_ = false;         // reserved, for exactly retry_at_
  bool incomplete_ = false;        // the request: attempts in flight hold no slot and no probe
  bool stranger_cuts_;             // the deadline is a stranger's, and earlier than the policy's
  bool hedge_suppressed_ = false;  // The hedge that is due was not admitted at its time.
  // Not initialised until an attempt uses a lane: zeroing all four makes a call that succeeds 11 ns
  // slower, 41 instead of 30 (BM_CallThatSucceeds). A lane that is not active is never read.
  union {
    std::array<Lane, kLanes>
        lanes_;  // NOLINT(readability-identifier-naming): a member all the same
  };
};

using Call = BasicCall<Footprint::large>;
using SmallCall = BasicCall<Footprint::small>;

extern template class BasicCall<Footprint::large>;
extern template class BasicCall<Footprint::small>;

static_assert(sizeof(Call) <= 512);
static_assert(std::is_trivially_copyable_v<Step>);

}  // namespace damper::engine
