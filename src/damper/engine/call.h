#ifndef DAMPER_ENGINE_CALL_H_
#define DAMPER_ENGINE_CALL_H_

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

// What the caller says of one call. The policy says the rest.
struct CallOptions {
  bool idempotent = false;   // it may be repeated: by its method, by its key, or on your word
  bool owned_above = false;  // a layer above retries it: here it is tried once
  bool unsent_owned_above = false;  // a layer above retries at least what never left
  bool rereads = false;             // each attempt reads anew, so a conflict may be tried again
  schedule::Deadline deadline{};    // the caller's; the policy's timeout holds as well
  Instant arrived = kNever;  // when the request's first byte came: the timeout counts from there;
                             // kNever: from start()
};

// A Call is one operation on a dependency with all its attempts: a state machine that is told what
// happened and answers with what to do next. Every driver drives this one; none decides anything
// about retrying itself.
//
// Model: a failed attempt is followed by another when all agree, asked in this order: the outcome
// (decide::judge: classification, idempotency, layering), the attempt cap, the schedule, the
// deadline, the switches, the breaker, the throttle, and the budget last, since it is the only one
// that pays. While an attempt runs late, a hedge may join it, through the same questions; the
// first success wins and the others are cancelled.
// Invariants:
//   (1) A call ends with exactly one verdict, by its deadline if it is driven on time.
//   (2) A retry is never sent earlier than the server said, nor after a switch has turned retries
//       off.
//   (3) What a refused or unsent retry had paid is given back.
//   (4) Each admitted attempt is settled once: breaker, limit, throttle and budget all hear of it.
// Thread safety: none; one call, one driver. Calls share their Dependency safely.
// Cost: no allocation; at most 512 bytes.
class Call {
 public:
  // The dependency outlives the call.
  Call(Dependency& dependency, const CallOptions& options) noexcept
      : dependency_(dependency),
        terms_(dependency.terms()),
        request_{.idempotent = options.idempotent,
                 .owned_above = options.owned_above,
                 .unsent_owned_above = options.unsent_owned_above,
                 .rereads = options.rereads},
        deadline_(options.deadline),
        arrived_(options.arrived) {}

  // Each input returns the next step, which is good until the next input. REQUIRES: start() comes
  // first, once; nothing comes after a step that is over(); `lane` is that of a sent attempt
  // without outcome that was not cancelled; 0 <= draw < 1, a new one each time.
  const Step& start(Instant now, double draw) noexcept;
  const Step& on_outcome(int lane, const decide::Report& report, Instant now, double draw) noexcept;
  // The same for a success, which needs no draw.
  const Step& on_success(int lane, Instant now) noexcept;
  // The wake-up time is there, or a switch was flipped; an early call is harmless.
  const Step& on_timer(Instant now, double draw) noexcept;
  // The caller gives up; it may have done so before start().
  const Step& on_cancel(Instant now) noexcept;
  // The request cannot be sent again: a part of its body was sent and is not kept. The attempts
  // under way go on; no other one is sent. No step follows from it. REQUIRES: one is under way.
  void on_unrepeatable() noexcept { request_.unrepeatable = true; }

  [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }
  [[nodiscard]] schedule::Deadline deadline() const noexcept { return deadline_; }
  // Whether this call retries on its own, so that the layers below it must not.
  [[nodiscard]] bool owns_retries() const noexcept {
    return (request_.idempotent || request_.rereads) && !request_.owned_above && terms_.retries;
  }
  // The same for what surely never left, which is retried though it is not idempotent.
  [[nodiscard]] bool owns_unsent() const noexcept {
    return !request_.owned_above && !request_.unsent_owned_above && terms_.retries;
  }
  // Whether a second attempt may run beside the first.
  [[nodiscard]] bool may_hedge() const noexcept {
    return terms_.hedges && request_.idempotent && !request_.unrepeatable && owns_retries();
  }

 private:
  using Permit = admit::CircuitBreaker::Permit;
  using Grant = admit::RetryBudget::Grant;

  struct Lane {
    Instant sent;
    Instant deadline;
    Permit permit;
    bool hedge;
    bool paid;
    Grant grant;  // if it paid
  };

  // Who pays for an attempt: a hedge pays its own budget and, inside it, the retries'.
  [[nodiscard]] admit::RetryBudget& budget_of(bool hedge) noexcept {
    return hedge ? dependency_.hedge_budget_ : dependency_.budget_;
  }
  [[nodiscard]] bool is_active(std::size_t lane) const noexcept {
    return (active_ >> lane & 1) != 0;
  }
  [[nodiscard]] Duration timeout_of_attempt(Instant now) noexcept;
  const Step& start_rarely(Instant now, double draw) noexcept;
  const Step& refuse_first(Verdict verdict, Instant now) noexcept;
  Verdict try_enter(Instant now, double draw, Permit& permit) noexcept;
  const Step& send(Instant now, Permit permit, const Grant* grant, bool hedge) noexcept;
  void settle(std::size_t place, decide::Outcome outcome, Instant now, double draw) noexcept;
  [[nodiscard]] Verdict judge(const decide::Report& report) noexcept;
  const Step& decide_next(const decide::Report& report, Instant now, double draw) noexcept;
  void on_hedge_race(const Lane& winner, Instant now) noexcept;
  const Step& retry(const decide::Report& report, Instant now, double draw) noexcept;
  const Step& send_retry(Instant now, double draw) noexcept;
  const Step& hedge(Instant now, double draw) noexcept;
  Verdict try_hedge(Instant now, double draw, Permit& permit, Grant& grant) noexcept;
  void plan_hedge(Instant now) noexcept;
  const Step& wait() noexcept;
  const Step& finish(Verdict verdict, Instant now,
                     decide::Outcome of_the_others = decide::Outcome::cancelled,
                     double draw = 0) noexcept;

  Dependency& dependency_;
  Step step_;  // the one that was returned last
  Dependency::Terms terms_;
  decide::Request request_;
  schedule::Deadline deadline_;
  Instant arrived_;
  schedule::Backoff backoff_;
  double draw_ = 0;  // what start() was given
  std::uint32_t attempts_ = 0;
  std::uint32_t retries_ = 0;
  decide::Outcome failed_with_ = decide::Outcome::transient;  // what the waiting retry is for
  std::uint8_t active_ = 0;                                   // a bit for each lane
  Verdict refused_with_ = Verdict::none;  // what ends the call when the last attempt has failed
  Instant not_before_ = Instant::min();   // when the server said to come back, at the earliest
  Instant retry_at_ = kNever;
  Instant hedge_at_ = kNever;
  admit::RetryBudget::Grant grant_;  // of the waiting retry
  // Left unset until send() uses one: a call that succeeds at once needs one of four. Nothing is
  // read of a lane that is not active.
  union {
    std::array<Lane, kLanes>
        lanes_;  // NOLINT(readability-identifier-naming): a member all the same
  };
};

static_assert(sizeof(Call) <= 512);
static_assert(std::is_trivially_copyable_v<Step>);

}  // namespace damper::engine

#endif  // DAMPER_ENGINE_CALL_H_
