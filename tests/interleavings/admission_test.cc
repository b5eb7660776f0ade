#include <chrono>
#include <string>

#include "damper/admit/attempt_rate.h"
#include "damper/admit/concurrency_limit.h"
#include "damper/admit/quota.h"
#include "damper/admit/switches.h"
#include "damper/admit/token_bucket.h"
#include "tests/interleavings/interleavings_testing.h"

namespace damper::interleavings {
namespace {

using admit::ConcurrencyLimit;
using admit::LimitKind;
using admit::Switch;
using admit::Switches;
using admit::TokenBucket;
using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

// The limit falls from two to one beside acquisitions.
class LimitWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int thread) {
    if (thread == 0) {
      use();
      Scheduler::note("reload");
      limit_.reload({.kind = LimitKind::fixed, .initial = 1});
      most_ = 1;
      use();
      return;
    }
    const bool held = acquire();
    use();
    if (held) release();
  }
  std::string fault() const {
    if (over_) return "an attempt is admitted above the limit";
    return limit_.in_flight() == 0 ? "" : "a place is lost";
  }

 private:
  bool acquire() {
    Scheduler::note("acquire");
    if (!limit_.try_acquire()) return false;
    over_ = ++held_ > most_ || over_;
    Scheduler::pause();
    return true;
  }
  void release() {
    Scheduler::note("release");
    --held_;
    limit_.release(kStart, kStart, false);
  }
  void use() {
    if (acquire()) release();
  }

  ConcurrencyLimit limit_{{.kind = LimitKind::fixed, .initial = 2}};
  int most_ = 2;
  int held_ = 0;
  bool over_ = false;
};
TEST(Interleavings, NothingIsAdmittedAboveALimitThatFalls) { expect_sound<LimitWorld>(3, 1'000); }

// Every release is a window, beside a reload that lowers the greatest limit.
class AdaptiveWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int thread) {
    if (thread == 0) return limit_.reload(kLower);
    for (int i = 0; i < 3; ++i) {
      const Instant at = kStart + i * 10ms;
      if (limit_.try_acquire()) limit_.release(at, at + 1ms, false);
    }
  }
  std::string fault() {
    if (limit_.in_flight() != 0) return "a place is lost";
    if (limit_.limit() > kLower.max || limit_.limit() < 1) {
      return "the limit is " + std::to_string(limit_.limit()) + " after a reload to at most 2";
    }
    limit_.reload(kLower);  // It waits for ever if an update did not end.
    return "";
  }

 private:
  static constexpr admit::ConcurrencyLimitOptions kLower{
      .kind = LimitKind::aimd, .initial = 2, .max = 2, .window_samples = 1};
  ConcurrencyLimit limit_{{.kind = LimitKind::aimd, .initial = 4, .max = 8, .window_samples = 1}};
};
TEST(Interleavings, ALimitThatAdaptsKeepsTheBoundsOfAReload) {
  expect_sound<AdaptiveWorld>(3, 1'000);
}

// Invariant (6) of ConcurrencyLimit: a thread that waits for a place is woken.
class WaiterWorld {
 public:
  static constexpr int kThreads = 2;
  WaiterWorld() { held_ = limit_.try_acquire(); }
  void run(int thread) {
    if (thread == 0) {
      Scheduler::note("release");
      limit_.release_ignored();
      if (waiting_.load()) woken_ = true;
      return;
    }
    waiting_.store(true);
    Scheduler::note("acquire");
    parked_ = !limit_.try_acquire();
    if (parked_) Scheduler::note("parks");
  }
  std::string fault() const {
    if (!held_) return "the first place is refused";
    return parked_ && !woken_ ? "a wake-up is lost" : "";
  }

 private:
  ConcurrencyLimit limit_{{.kind = LimitKind::fixed, .initial = 1}};
  Atomic<bool> waiting_{false};
  bool held_ = false;
  bool parked_ = false;
  bool woken_ = false;
};
TEST(Interleavings, AThreadThatWaitsForAPlaceIsWoken) { expect_sound<WaiterWorld>(4, 10); }

class QuotaWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int /*thread*/) {
    for (int i = 0; i < 3; ++i) {
      if (quota_.try_take() == 0) continue;
      over_ = ++taken_ > 1 || over_;
      Scheduler::pause();
      --taken_;
      quota_.give_back();
    }
  }
  std::string fault() const {
    if (over_) return "two hold the one place";
    return quota_.taken() == 0 ? "" : "a place is lost";
  }

 private:
  admit::Quota quota_{1};
  int taken_ = 0;
  bool over_ = false;
};
TEST(Interleavings, OnePlaceIsTakenOnce) { expect_sound<QuotaWorld>(3, 1'000); }

// Three tokens, taken and reloaded at one instant.
template <bool kReloads>
class BucketWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int thread) {
    if (kReloads && thread == 0) {
      Scheduler::note("reload");
      return bucket_.reload({.rate_per_second = 2, .burst = 3}, kStart);
    }
    for (int i = 0; i < 3; ++i) take();
  }
  std::string fault() {
    while (take()) {
    }
    return taken_ == 3 ? "" : std::to_string(taken_) + " tokens of a bucket of 3";
  }

 private:
  bool take() {
    Scheduler::note("take");
    const bool taken = bucket_.try_take(kStart);
    taken_ += taken ? 1 : 0;
    return taken;
  }
  TokenBucket bucket_{{.rate_per_second = 1, .burst = 3}};
  int taken_ = 0;
};
TEST(Interleavings, ABucketGivesWhatItHas) { expect_sound<BucketWorld<false>>(3, 1'000); }
TEST(Interleavings, ABucketGivesWhatItHasBesideAReload) {
  expect_sound<BucketWorld<true>>(2, 1'000);
}

// Two callers hang up and wait again: each token is reserved once, and none is lost.
class ReturnedWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int thread) {
    Scheduler::note("give back");
    tokens_.give_back(kStart + Duration(1 + thread), kStart);
    reserve();
    if (thread == 0) reserve();
  }
  std::string fault() {
    while (reserve()) {
    }
    return taken_ == 2 ? "" : std::to_string(taken_) + " of two returned tokens";
  }

 private:
  bool reserve() {
    Scheduler::note("reserve");
    const bool taken = tokens_.try_reserve(kStart, kNever, kStart).has_value();
    taken_ += taken ? 1 : 0;
    return taken;
  }
  admit::ReturnedTokens<2> tokens_;
  int taken_ = 0;
};
TEST(Interleavings, AReturnedTokenIsReservedOnce) { expect_sound<ReturnedWorld>(3, 1'000); }

struct Listener : admit::FlipListener {
  void on_flip() noexcept override { ++flips; }
  int flips = 0;
};

// Two operators flip the same switch: one setting remains, whole.
class FlipWorld {
 public:
  static constexpr int kThreads = 2;
  FlipWorld() { switches_.listen(first_); }
  void run(int thread) {
    if (thread == 0) {
      switches_.set(Switch::retries, {.off = true, .reason = "for ever"});
      switches_.set(Switch::hedging, {.off = true, .reason = "hedging"});
    } else {
      switches_.listen(second_);
      switches_.set(Switch::retries, {.off = true, .until = kStart + 5s, .reason = "a while"});
      after_ = second_.flips;
    }
  }
  std::string fault() const {
    const auto status = switches_.snapshot(Switch::retries, kStart);
    if (!status.off || !switches_.retries_off(kStart)) return "a flip is not seen";
    const bool for_ever = status.reason == "for ever";
    if (for_ever != (status.remaining == kForever))
      return "a reason of one flip, an expiry of another";
    if (for_ever != switches_.retries_off(kStart + 6s)) return "the word is not the record's";
    if (first_.flips != 3) return "a listener is not called once for each flip";
    return after_ >= 1 ? "" : "a listener is not called for a flip after it was registered";
  }

 private:
  Switches process_;
  Switches switches_{&process_};
  Listener first_;
  Listener second_;
  int after_ = 0;
};
TEST(Interleavings, OfTwoFlipsOneRemainsWhole) { expect_sound<FlipWorld>(2, 1'000); }

// A waiting call reads the switch and parks; a flip wakes it, or it saw the flip.
class WakeWorld {
 public:
  static constexpr int kThreads = 2;
  WakeWorld() { process_.listen(listener_); }
  void run(int thread) {
    if (thread == 0) {
      Scheduler::note("flip");
      return switches_.set(Switch::retries, {.off = true});
    }
    const int before = listener_.flips;
    parked_ = !switches_.retries_off(kStart);
    if (parked_) Scheduler::note("parks");
    before_ = before;
  }
  std::string fault() const {
    return parked_ && listener_.flips == before_ ? "a wake-up is lost" : "";
  }

 private:
  Switches process_;
  Switches switches_{&process_};
  Listener listener_;
  int before_ = 0;
  bool parked_ = false;
};
TEST(Interleavings, AFlipWakesEachCallThatDidNotSeeIt) { expect_sound<WakeWorld>(3, 50); }

}  // namespace
}  // namespace damper::interleavings
