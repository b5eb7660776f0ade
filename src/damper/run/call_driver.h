#ifndef DAMPER_RUN_CALL_DRIVER_H_
#define DAMPER_RUN_CALL_DRIVER_H_

#include <array>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/call.h"
#include "damper/engine/step.h"

namespace damper::run {

// A CallDriver does what the steps of one engine::Call say, for attempts that begin here and end
// later on the same loop: the part that async_call, the HTTP client and the proxy have in common.
// It decides nothing.
//
// Model: the derived class sends attempts, gives them up, keeps one timer, and is told the verdict.
// What is reported while a step is being done (an attempt that fails at once, inside send(); the
// caller who gives up) waits until the step is done. The timer is asked for last, so a call whose
// attempt ends inside send() needs none.
// Invariants:
//   (1) An attempt is heard of once, and one that was given up not at all.
//   (2) on_verdict() comes once, as the last thing that the driver does with itself: it may destroy
//       it. No attempt is wanted any more then; those given up may still have to be waited for,
//       which is the derived class's business.
//   (3) wake_at() comes only when the time differs from what was asked for last, or after
//       on_timer().
// Thread safety: none.
// Cost: no allocation; beside the engine's, a few branches.
class CallDriver {
 public:
  CallDriver(engine::Dependency& dependency, const engine::CallOptions& options) noexcept
      : call_(dependency, options) {}
  CallDriver(const CallDriver&) = delete;
  CallDriver& operator=(const CallDriver&) = delete;

  // First, and once. Nothing happens if it was cancelled before.
  void start(Instant now);
  // The attempt that send() was last called with for this lane has ended. If that one was given up,
  // nobody listens. A lane is used again: of an attempt that outlives its being given up, ask
  // is_wanted() first.
  void on_outcome(int lane, const decide::Report& report, Instant now);
  // The time that wake_at() asked for is there; an early call is harmless (a switch was flipped).
  void on_timer(Instant now);
  // The caller gives up; it may do so before start().
  void on_cancel(Instant now);
  // What is sent cannot be sent again: see engine::Call.
  void on_unrepeatable() noexcept { call_.on_unrepeatable(); }

  [[nodiscard]] const engine::Call& call() const noexcept { return call_; }
  [[nodiscard]] bool is_over() const noexcept { return over_; }
  // Whether it waits for its next attempt with none under way: then a flip of a switch concerns it.
  [[nodiscard]] bool is_waiting() const noexcept {
    return started_ && !over_ && wanted_ == 0 && waiting_ == 0;
  }
  // Whether the outcome of this attempt is still asked for.
  [[nodiscard]] bool is_wanted(const engine::Attempt& attempt) const noexcept {
    return is_wanted(attempt.lane) && numbers_[attempt.lane] == attempt.number;
  }

 protected:
  ~CallDriver() = default;
  virtual void send(const engine::Attempt& attempt) = 0;
  virtual void give_up(int lane) = 0;      // its outcome is not asked for any more
  virtual void wake_at(Instant when) = 0;  // kNever: no timer is needed
  virtual void on_verdict(Verdict verdict) = 0;

  // Nobody will drive the call to its end, since its loop has gone: what its attempts hold of the
  // dependency is given back. Calls nothing of the above, so a destructor may use it.
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
  void turn(const engine::Step& first);
  [[nodiscard]] const engine::Step* find_next();
  void drop(int lane);
  void finish(Verdict verdict);

  engine::Call call_;
  std::array<std::uint32_t, engine::kLanes> numbers_{};  // of the attempts in the lanes
  std::array<Pending, engine::kLanes> pending_{};        // in the order in which they came
  std::uint8_t waiting_ = 0;                             // so many of them
  std::uint8_t wanted_ = 0;                              // a bit for each lane
  bool started_ = false;
  bool busy_ = false;  // a step is being done
  bool over_ = false;
  bool timer_due_ = false;                // told while busy
  bool cancelled_ = false;                // told while busy
  Instant told_at_{};                     // when the last two were told
  std::optional<Instant> asked_{kNever};  // of wake_at(); nothing: it must be asked for again
};

}  // namespace damper::run

#endif  // DAMPER_RUN_CALL_DRIVER_H_
