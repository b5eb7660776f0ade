#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/call.h"

namespace damper::run {

// A CallDriver executes the steps of one engine::Call for attempts that start here and end later on
// the same loop: the common part of async_call, the HTTP client and the proxy. It decides nothing.
//
// Model: the derived class sends attempts, gives them up, keeps one timer and gets the verdict.
// An input during a step (an attempt that fails inside send(), a cancellation) is deferred until
// the step is done. The timer is set last, so a call whose attempt ends inside send() needs none.
// Invariants:
//   (1) The outcome of an attempt is used once, and that of an attempt that was given up never.
//   (2) on_verdict() is called once, as the driver's last action: it may destroy the driver. No
//       attempt is wanted by then; the derived class waits for those given up if it has to.
//   (3) wake_at() is called only if the time differs from that of its last call, or after
//       on_timer().
// Thread safety: none.
// Cost: no allocation; a few branches in addition to the engine's cost.
class CallDriver {
 public:
  CallDriver(engine::Dependency& dependency, const engine::CallOptions& options) noexcept
      : call_(dependency, options) {}
  CallDriver(const CallDriver&) = delete;
  CallDriver& operator=(const CallDriver&) = delete;

  // First, and once. Nothing happens if it was cancelled before.
  void start(Instant now);
  // The attempt that was last sent in this lane has ended. Ignored if it was given up. Lanes are
  // reused: for an attempt that can outlive give_up(), check is_wanted() first.
  void on_outcome(int lane, const decide::Report& report, Instant now);
  // The time of wake_at() is reached, or a switch was flipped; an early call is harmless.
  void on_timer(Instant now);
  // The caller gives up; allowed before start(), too.
  void on_cancel(Instant now);
  // The request cannot be sent again: see engine::Call.
  void on_unrepeatable() noexcept { call_.on_unrepeatable(); }
  // The caller uploads the request while it is sent: see engine::Call. Allowed before start().
  void on_upload_awaited(Instant now) noexcept { call_.on_upload_awaited(now); }
  void on_upload_blocked(Instant now) noexcept { call_.on_upload_blocked(now); }
  // No effect on a call that is over. REQUIRES: it is not called by send() or give_up().
  void on_upload_complete(Instant now);

  [[nodiscard]] const engine::Call& call() const noexcept { return call_; }
  [[nodiscard]] bool is_over() const noexcept { return over_; }
  // Whether it waits for its next attempt with none in flight: then it has to see a switch flip.
  [[nodiscard]] bool is_waiting() const noexcept {
    return started_ && !over_ && wanted_ == 0 && waiting_ == 0;
  }
  // Whether the outcome of this attempt is still wanted.
  [[nodiscard]] bool is_wanted(const engine::Attempt& attempt) const noexcept {
    return is_wanted(attempt.lane) && numbers_[attempt.lane] == attempt.number;
  }

 protected:
  ~CallDriver() = default;
  virtual void send(const engine::Attempt& attempt) = 0;
  virtual void give_up(int lane) = 0;      // its outcome is no longer wanted
  virtual void wake_at(Instant when) = 0;  // kNever: no timer is needed
  virtual void on_verdict(Verdict verdict) = 0;

  // Ends the call without a verdict, since its loop is destroyed: returns all that its attempts
  // hold of the dependency. Calls none of the above, so a destructor may use it.
  void abandon(Instant now) noexcept;

 private:
  struct Pending {
    int lane = 0;
    decide::Report report;
    Instant at{};
  };

  [[nodiscard]] bool is_wanted(int lane) const noexcept {
    return lane >= 0 && lane < engine::kLanes && (wanted_ >> lane & 1U) != 0;
  }
  void run_steps();
  [[nodiscard]] bool take_deferred();
  void forget(int lane);
  void finish(Verdict verdict);

  engine::Call call_;
  std::array<std::uint32_t, engine::kLanes> numbers_{};  // of the attempts in the lanes
  std::array<Pending, engine::kLanes> pending_{};        // deferred outcomes, in order
  std::uint8_t waiting_ = 0;                             // the number of pending_ in use
  std::uint8_t wanted_ = 0;                              // a bit for each lane
  bool started_ = false;
  bool busy_ = false;  // inside run_steps()
  bool over_ = false;
  bool timer_due_ = false;                         // deferred
  bool cancelled_ = false;                         // deferred
  Instant deferred_at_{};                          // the time of the last two
  std::optional<Instant> requested_wake_{kNever};  // of wake_at(); nothing: it must be set again
};

}  // namespace damper::run
