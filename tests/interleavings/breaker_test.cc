#include <chrono>
#include <string>

#include "damper/admit/circuit_breaker.h"
#include "tests/interleavings/interleavings_testing.h"

namespace damper::interleavings {
namespace {

using admit::BreakerPermit;
using admit::BreakerState;
using admit::CircuitBreakerOptions;
using admit::SmallCircuitBreaker;
using admit::Transition;
using namespace std::chrono_literals;

constexpr Instant kStart{1000s};
constexpr Instant kLater = kStart + 1s;  // The open time is over.

CircuitBreakerOptions options(int probes, int failures) {
  return {.consecutive_failures = failures,
          .window = 10s,
          .open_base = 20ms,
          .open_cap = 20ms,
          .probes = probes,
          .probe_lease = 10s,
          .ramp = 0s};
}

// A breaker, and the transitions that it reported.
class BreakerWorld {
 public:
  static constexpr int kThreads = 2;

  explicit BreakerWorld(const CircuitBreakerOptions& options) : breaker_(options) {}

 protected:
  BreakerPermit admit(Instant now) {
    Scheduler::note("admit");
    const BreakerPermit permit = breaker_.try_admit(now, 0);
    if (permit.opened) ++opened_;
    if (permit.half_opened) ++half_opened_;
    return permit;
  }
  void count(Transition transition) {
    if (transition == Transition::opened) ++opened_;
    if (transition == Transition::half_opened) ++half_opened_;
    if (transition == Transition::closed) ++closed_;
  }
  void fail(BreakerPermit permit, Instant now) {
    Scheduler::note("failure");
    count(breaker_.on_failure(permit, 1ms, now, 0));
  }
  void succeed(BreakerPermit permit, Instant now) {
    Scheduler::note("success");
    count(breaker_.on_success(permit, 1ms, now, 0));
  }

  SmallCircuitBreaker breaker_;
  int opened_ = 0;
  int half_opened_ = 0;
  int closed_ = 0;
};

class TripWorld : public BreakerWorld {
 public:
  TripWorld() : BreakerWorld(options(1, 2)) {}
  void run(int /*thread*/) {
    for (int i = 0; i < 3; ++i) {
      const BreakerPermit permit = admit(kStart);
      if (permit.admitted) fail(permit, kStart);
    }
  }
  std::string fault() const {
    if (opened_ != 1) return "a trip is reported " + std::to_string(opened_) + " times";
    return breaker_.state(kStart) == BreakerState::open ? "" : "it is not open";
  }
};
TEST(Interleavings, ATripIsReportedOnce) { expect_sound<TripWorld>(2, 1'000); }

// Threads probe a breaker whose open time is over; closed, it stays closed. The first probe of each
// is cancelled; those of one thread succeed then, and those of the other fail.
template <int kProbes>
class ProbeWorld : public BreakerWorld {
 public:
  ProbeWorld() : BreakerWorld(options(kProbes, 0)) { (void)breaker_.trip(kStart, 0); }
  void run(int thread) {
    for (int i = 0; i < 3; ++i) {
      const BreakerPermit permit = admit(kLater);
      if (!permit.admitted) continue;
      if (permit.probe != 0) too_many_ = ++out_ > kProbes || too_many_;
      Scheduler::pause();
      if (permit.probe != 0) --out_;
      if (i == 0) {
        breaker_.on_cancel(permit, kLater);
      } else if (thread == 0) {
        succeed(permit, kLater);
      } else {
        fail(permit, kLater);
      }
    }
  }
  std::string fault() {
    if (too_many_) return "more probes are out than `probes`";
    const BreakerState state = breaker_.state(kLater);
    const bool half_open = state == BreakerState::half_open;
    if (half_opened_ != opened_ + closed_ + (half_open ? 1 : 0)) {
      return "a transition is not reported once: " + std::to_string(opened_) + " opened, " +
             std::to_string(half_opened_) + " half-opened, " + std::to_string(closed_) + " closed";
    }
    if (half_open && !admit(kLater).admitted) return "a lease is lost";
    return "";
  }

 private:
  int out_ = 0;
  bool too_many_ = false;
};
TEST(Interleavings, OneProbeIsOutAtATime) { expect_sound<ProbeWorld<1>>(2, 1'000); }
TEST(Interleavings, TwoProbesAreOutAtATime) { expect_sound<ProbeWorld<2>>(2, 1'000); }

// A lease ends while its probe succeeds: the breaker opens and closes, or closes at once.
class ExpiryWorld : public BreakerWorld {
 public:
  ExpiryWorld() : BreakerWorld(options(1, 2)) {
    for (int i = 0; i < 2; ++i) fail(admit(kStart), kStart);
    probe_ = admit(kLater);
    opened_ = half_opened_ = 0;
  }
  void run(int thread) {
    if (thread == 0) return succeed(probe_, kExpired);
    for (int i = 0; i < 2; ++i) {
      const BreakerPermit permit = admit(kExpired);
      if (permit.admitted) breaker_.on_cancel(permit, kExpired);
    }
  }
  std::string fault() const {
    const BreakerState state = breaker_.state(kExpired);
    if (opened_ > 1) return "the end of a lease is reported twice";
    if (closed_ > 1) return "the success of a probe is reported twice";
    if (closed_ == 1) return state == BreakerState::closed ? "" : "closed, but it is not";
    return opened_ == 1 ? "" : "the success of a probe is lost";
  }

 private:
  static constexpr Instant kExpired = kLater + 10s;
  BreakerPermit probe_;
};
TEST(Interleavings, ALeaseThatEndsBesideItsProbesSuccess) { expect_sound<ExpiryWorld>(3, 1'000); }

// An operator forces a half-open breaker while its probe and another call report. What is forced
// holds, whatever they report before, beside and after it: invariant (8).
template <admit::BreakerForce kForce>
class ForceWorld : public BreakerWorld {
 public:
  ForceWorld() : BreakerWorld(options(1, 1)) {
    fail(admit(kStart), kStart);
    probe_ = admit(kLater);
  }
  void run(int thread) {
    if (thread == 0) {
      Scheduler::note("force");
      (void)breaker_.force({.force = kForce, .length = 1h}, kLater);
      is_wrong_ = admit(kLater).admitted != (kForce == admit::BreakerForce::closed);
      return;
    }
    succeed(probe_, kLater);  // It closes the breaker.
    const BreakerPermit permit = admit(kLater);
    if (permit.admitted) fail(permit, kLater);  // It opens the breaker.
  }
  std::string fault() const {
    if (is_wrong_) return "a call after force() does not see the forced state";
    return breaker_.forced(kLater).force == kForce ? "" : "the forced state is lost";
  }

 private:
  BreakerPermit probe_;
  bool is_wrong_ = false;
};
TEST(Interleavings, AForcedOpenStateHoldsBesideResults) {
  expect_sound<ForceWorld<admit::BreakerForce::open>>(2, 500);
}
TEST(Interleavings, AForcedClosedStateHoldsBesideResults) {
  expect_sound<ForceWorld<admit::BreakerForce::closed>>(2, 500);
}

// Two operators: one of the two states remains, whole.
class TwoForcesWorld : public BreakerWorld {
 public:
  TwoForcesWorld() : BreakerWorld(options(1, 1)) {}
  void run(int thread) {
    Scheduler::note("force");
    count(breaker_.force(thread == 0 ? kOpen : kClosed, kStart));
  }
  std::string fault() const {
    const admit::BreakerForceStatus status = breaker_.forced(kStart);
    const bool open = status.force == admit::BreakerForce::open;
    if (status.force == admit::BreakerForce::none) return "neither is held";
    if (status.remaining != (open ? kOpen : kClosed).length) return "the expiry is the other's";
    // Open was first, or last: a transition to open, and one back if it was not the last.
    if (opened_ != 1 && open) return "it is open without a report";
    return closed_ == (open ? 0 : opened_) ? "" : "a transition is not reported once";
  }

 private:
  static constexpr admit::BreakerForceSetting kOpen{admit::BreakerForce::open, 1h};
  static constexpr admit::BreakerForceSetting kClosed{admit::BreakerForce::closed, 2h};
};
TEST(Interleavings, OfTwoForcedStatesOneRemains) { expect_sound<TwoForcesWorld>(2, 30); }

}  // namespace
}  // namespace damper::interleavings
