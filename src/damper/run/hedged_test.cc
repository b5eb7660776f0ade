#include "damper/run/hedged.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <list>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "damper/run/blocking.h"

namespace damper {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Duration kLong = 60s;

// Waits until it is told to stop, or for so long.
Outcome until_stopped(const Attempt& attempt, Duration most = kLong) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  (void)never.wait_for(lock, attempt.stop(), most, [] { return false; });
  return attempt.stop().stop_requested() ? Outcome::cancelled : Outcome::timeout;
}

engine::Policy hedging() {
  engine::Policy policy;
  policy.call.timeout = 1h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 1us, .cap = 1us};
  policy.call.hedge = {.max_hedges = 1, .floor = 1ms, .min_samples = 100, .ratio = Percent(100)};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}

// A hundred quick answers are known, so that a hedge is due after a few milliseconds at most.
class Hedged : public testing::Test {
 protected:
  void SetUp() override { warm(dependency_); }

  static void warm(Dependency& dependency) {
    for (int i = 0; i < 100; ++i) {
      (void)call(dependency, {}, [](const Attempt&) { return Outcome::success; });
    }
  }

  Dependency dependency_{"test", hedging()};
};

const Options kRead = {.safe = true};

TEST_F(Hedged, TheHedgeWinsAndTheLoserIsToldToStopAndWaitedFor) {  // Invariants (1) and (2).
  bool told = false;
  std::thread::id helper;
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.hedge()) {
      helper = std::this_thread::get_id();
      EXPECT_EQ(attempt.number(), 2u);
      EXPECT_EQ(run::Scope::retry_owner(), "test");
      EXPECT_EQ(run::Scope::retry_attempt(), 2u);
      return 2;
    }
    told = until_stopped(attempt) == Outcome::cancelled;
    return 1;  // Too late: nobody asks.
  });
  EXPECT_EQ(*result, 2);
  EXPECT_TRUE(told);
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_NE(helper, std::this_thread::get_id());
  EXPECT_EQ(dependency_.tally().hedges, 1u);
  EXPECT_EQ(dependency_.tally().hedges_won, 1u);
  EXPECT_EQ(dependency_.tally().in_flight(), 0u);
}

TEST_F(Hedged, TheHedgeLosesAndIsToldToStopAndWaitedFor) {  // Invariant (2).
  std::latch beside(1);
  bool told = false;
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (!attempt.hedge()) {
      beside.wait();
      return 1;
    }
    beside.count_down();
    told = until_stopped(attempt) == Outcome::cancelled;
    return 2;
  });
  EXPECT_EQ(*result, 1);
  EXPECT_TRUE(told);
  EXPECT_EQ(dependency_.tally().hedges_won, 0u);
}

TEST_F(Hedged, AHedgeOnAHelperInheritsWhatTheRequestIs) {
  const run::RequestContext request{
      .retry_owner = "edge", .attempt = 3, .criticality = admit::Criticality::sheddable};
  const run::Scope inside(request);
  std::atomic<int> seen = 0;
  (void)call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    EXPECT_NE(run::Scope::context(), nullptr);
    if (run::Scope::context() != nullptr) {
      EXPECT_EQ(run::Scope::context()->criticality, admit::Criticality::sheddable);
    }
    ++seen;
    if (attempt.hedge()) return 2;
    (void)until_stopped(attempt);
    return 1;
  });
  EXPECT_EQ(seen, 2);
}

TEST_F(Hedged, AHedgeWinsWhileTheRetryBesideItWaits) {
  engine::Policy patient = hedging();
  patient.call.backoff.base = patient.call.backoff.cap = 1min;
  dependency_.reload(patient, run::now());
  std::latch beside(1);
  std::latch failing(1);
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.hedge()) {
      beside.count_down();
      failing.wait();
      return 2;
    }
    beside.wait();
    failing.count_down();
    return failed(Outcome::transient);
  });
  EXPECT_EQ(*result, 2);
  EXPECT_EQ(dependency_.tally().all_retries(), 0u);
}

TEST_F(Hedged, WhenBothFailTheCallRetries) {
  std::latch beside(1);
  const auto caller = std::this_thread::get_id();
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.number() == 3) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return 3;
    }
    if (attempt.hedge()) beside.count_down();
    beside.wait();
    return failed(Outcome::transient);
  });
  EXPECT_EQ(*result, 3);
  EXPECT_EQ(result.attempts(), 3u);
  EXPECT_EQ(dependency_.tally().retries_for(Outcome::transient), 1u);
}

TEST_F(Hedged, WhatIsThrownOnAHelperComesBackToTheCaller) {
  engine::Policy patient = hedging();
  patient.call.backoff.base = patient.call.backoff.cap = 1min;
  dependency_.reload(patient, run::now());
  std::latch beside(1);
  auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.hedge()) {
      beside.count_down();
      (void)until_stopped(attempt, 100ms);  // The first fails meanwhile.
      throw std::runtime_error("on the helper");
    }
    beside.wait();
    return failed(Outcome::transient);
  });
  EXPECT_EQ(result.verdict(), Verdict::permanent);
  EXPECT_THROW((void)result.value(), std::runtime_error);
}

TEST_F(Hedged, TrapH6_WhatIsThrownOnAHelperDoesNotEndTheFirstAttempt) {
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.hedge()) throw std::runtime_error("on the helper");
    (void)until_stopped(attempt, 50ms);
    return 1;
  });
  EXPECT_EQ(*result, 1);
}

TEST_F(Hedged, AHedgeThatCannotConnectDoesNoHarm) {
  std::latch thrown(1);
  const auto result = call(dependency_, kRead, [&](const Attempt& attempt) -> Result<int> {
    if (attempt.hedge()) {
      thrown.count_down();
      throw std::system_error(ECONNREFUSED, std::generic_category());
    }
    thrown.wait();
    return 1;
  });
  EXPECT_EQ(*result, 1);
}

TEST_F(Hedged, TheCallersStopReachesAllOfThem) {
  std::stop_source stop;
  std::latch beside(1);
  std::atomic<int> told{0};
  const std::jthread other([&] {
    beside.wait();
    stop.request_stop();
  });
  const auto result =
      call(dependency_, {.safe = true, .stop = stop.get_token()}, [&](const Attempt& attempt) {
        if (attempt.hedge()) beside.count_down();
        const Outcome outcome = until_stopped(attempt);
        if (outcome == Outcome::cancelled) told.fetch_add(1);
        return Outcome::transient;
      });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_EQ(told.load(), 2);
}

TEST_F(Hedged, ACallThatWasGivenUpBeforeItBeganSendsNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto result =
      call(dependency_, {.safe = true, .stop = stop.get_token()}, [&](const Attempt&) {
        ADD_FAILURE() << "it was sent";
        return Outcome::success;
      });
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
}

TEST_F(Hedged, AStopCallbackMayDoAnything) {  // Invariant (3).
  std::stop_source stop;
  const auto result =
      call(dependency_, {.safe = true, .stop = stop.get_token()},
           [&](const Attempt& attempt) -> Result<int> {
             if (attempt.hedge()) return 2;
             // Stops the caller, which comes back to the call.
             const std::stop_callback all(attempt.stop(), [&] { stop.request_stop(); });
             (void)until_stopped(attempt);
             return 1;
           });
  EXPECT_EQ(*result, 2);
}

TEST_F(Hedged, TheDeadlineEndsAllOfThem) {
  const Instant deadline = in(100ms);
  std::atomic<int> told{0};
  const auto result =
      call(dependency_, {.safe = true, .deadline = deadline}, [&](const Attempt& attempt) {
        EXPECT_LE(attempt.deadline(), deadline);
        const Outcome outcome = until_stopped(attempt);
        if (outcome == Outcome::cancelled) told.fetch_add(1);
        return outcome;
      });
  EXPECT_EQ(result.verdict(), Verdict::deadline_passed);
  EXPECT_GE(run::now(), deadline);
  EXPECT_LT(run::now(), deadline + kLong);
  EXPECT_EQ(told.load(), static_cast<int>(result.attempts()));
}

TEST_F(Hedged, AnAttemptThatTakesTooLongIsToldToStopAndTriedAgain) {
  engine::Policy policy = hedging();
  policy.call.per_try_timeout = 20ms;
  Dependency cold("cold", policy);  // Nothing is known: it may hedge, but does not.
  const Instant before = run::now();
  const auto result = call(cold, kRead, [&](const Attempt& attempt) {
    return attempt.number() == 1 ? until_stopped(attempt) : Outcome::success;
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 2u);
  EXPECT_GE(run::now() - before, 20ms);
  EXPECT_LT(run::now() - before, kLong);
  EXPECT_EQ(cold.tally().retries_for(Outcome::timeout), 1u);
  EXPECT_EQ(cold.tally().hedges, 0u);
}

TEST_F(Hedged, WhatMayNotBeRepeatedIsNotHedged) {
  for (const Options& options : {Options{}, Options{.safe = true, .owned_above = true}}) {
    const auto result = call(dependency_, options,
                             [](const Attempt& attempt) { return until_stopped(attempt, 20ms); });
    EXPECT_EQ(result.attempts(), 1u);
  }
  EXPECT_EQ(dependency_.tally().hedges, 0u);
}

TEST_F(Hedged, TrapH6_WhatMayBeRepeatedAndIsNoReadIsNotHedged) {
  const auto result = call(dependency_, {.idempotent = true}, [](const Attempt& attempt) {
    (void)until_stopped(attempt, 20ms);
    return Outcome::success;
  });
  EXPECT_EQ(result.attempts(), 1u);
  EXPECT_EQ(dependency_.tally().hedges, 0u);
}

TEST_F(Hedged, TrapH7_AFailedAttemptIsRetriedBesideAHedgeThatHangs) {
  const Instant before = run::now();
  const auto result = call(dependency_, kRead, [](const Attempt& attempt) {
    if (attempt.hedge()) return until_stopped(attempt, kLong);
    if (attempt.number() > 1) return Outcome::success;
    (void)until_stopped(attempt, 50ms);  // The hedge is sent meanwhile.
    return Outcome::transient;
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 3u);
  EXPECT_LT(run::now() - before, kLong);
}

TEST_F(Hedged, TrapK1_TheSwitchReachesABackoffAlsoWhileALoserGoesOn) {
  engine::Policy policy = hedging();
  policy.call.per_try_timeout = 20ms;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 30min, .cap = 30min};
  policy.budget = {.percent = Percent(0), .reserve = 100};
  Dependency slow("slow", policy);
  warm(slow);
  std::latch release(1);
  const std::jthread other([&] {
    // A retry has been paid for: the call is in its backoff, beside a hedge that does not stop.
    while (slow.budget().balance(run::now()) > 99.0 - static_cast<double>(slow.tally().hedges)) {
      std::this_thread::yield();
    }
    slow.switches().set(admit::Switch::retries, {.off = true});
    while (slow.tally().of(Verdict::switched_off) == 0) std::this_thread::yield();
    release.count_down();
  });
  const Instant before = run::now();
  const auto result = call(slow, kRead, [&](const Attempt& attempt) {
    if (attempt.hedge()) {
      release.wait();
    } else {
      (void)until_stopped(attempt);
    }
    return Outcome::transient;
  });
  EXPECT_EQ(result.verdict(), Verdict::switched_off);
  EXPECT_LT(run::now() - before, kLong);
}

// A place that the state machine has given to a new attempt while the old one, which does not
// stop, is still running.
TEST_F(Hedged, AnAttemptThatDoesNotStopIsInNobodysWay) {  // Invariant (1).
  engine::Policy policy = hedging();
  policy.call.max_attempts = 100;
  policy.call.per_try_timeout = 30ms;
  policy.call.hedge.max_hedges = 2;
  policy.call.hedge.floor = 20ms;
  for (int round = 0; round < 5; ++round) {
    Dependency slow("slow", policy);
    warm(slow);
    std::mutex mutex;
    std::condition_variable won;
    bool over = false;
    const auto result = call(slow, kRead, [&](const Attempt& attempt) {
      if (attempt.number() == 1) {
        std::unique_lock lock(mutex);  // Deaf; but if no hedge came in time, the retry needs it.
        won.wait_for(lock, 2s, [&] { return over; });
        return Outcome::permanent;
      }
      if (attempt.number() == 2) return until_stopped(attempt);
      const std::lock_guard lock(mutex);
      over = true;
      won.notify_all();
      return Outcome::success;
    });
    EXPECT_TRUE(result);
    EXPECT_GE(result.attempts(), 3u);
    EXPECT_EQ(slow.tally().in_flight(), 0u);
  }
}

// Keeps all helpers of the process busy that may be.
class BusyHelpers {
 public:
  BusyHelpers() {
    for (int i = 0; i < 40; ++i) {
      tasks_.emplace_back(*this);
      EXPECT_TRUE(run::HelperPool::of_process().schedule(tasks_.back(), run::now()));
    }
    for (Busy& task : tasks_) task.begun.wait();
    EXPECT_EQ(blocked_.load(), 31);  // All but the last.
  }
  ~BusyHelpers() {
    release_.count_down();
    for (Busy& task : tasks_) run::HelperPool::of_process().cancel(task);
  }

 private:
  struct Busy final : run::HelperPool::Task {
    explicit Busy(BusyHelpers& all) : helpers(all) {}
    void run(bool may_block) noexcept override {
      if (may_block) helpers.blocked_.fetch_add(1);
      begun.count_down();
      if (may_block) helpers.release_.wait();
    }
    std::latch begun{1};
    BusyHelpers& helpers;
  };
  std::latch release_{1};
  std::atomic<int> blocked_{0};
  std::list<Busy> tasks_;
};

TEST_F(Hedged, WithoutAFreeHelperTheCallGoesOnUnhedged) {  // Invariant (4).
  const BusyHelpers busy;
  const auto result = call(dependency_, kRead, [](const Attempt& attempt) {
    EXPECT_EQ(until_stopped(attempt, 30ms), Outcome::timeout);
    return Outcome::success;
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.attempts(), 1u);
  EXPECT_EQ(dependency_.tally().hedges, 0u);
}

TEST_F(Hedged, WithoutAFreeHelperTheDeadlineStillEndsTheAttempt) {  // Invariant (4).
  const BusyHelpers busy;
  const Instant deadline = in(50ms);
  const auto result = call(dependency_, {.safe = true, .deadline = deadline},
                           [](const Attempt& attempt) { return until_stopped(attempt); });
  EXPECT_EQ(result.verdict(), Verdict::deadline_passed);
  EXPECT_GE(run::now(), deadline);
  EXPECT_LT(run::now(), deadline + kLong);
}

TEST_F(Hedged, TwoHundredAtOnceEndOnceEachAndTheBooksBalance) {  // Invariants (1) and (2).
  constexpr int kCalls = 200;
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<int> succeeded{0};
  std::latch start(kCalls);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kCalls; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      const auto result = call(dependency_, kRead, [&](const Attempt& attempt) {
        begun.fetch_add(1);
        if (!attempt.hedge() && i % 4 != 0) (void)until_stopped(attempt, 20ms);
        ended.fetch_add(1);
        return attempt.number() == 1 && i % 3 == 0 ? Outcome::transient : Outcome::success;
      });
      if (result.verdict() == Verdict::success) succeeded.fetch_add(1);
      EXPECT_LE(result.attempts(), 3u);
    });
  }
  threads.clear();
  EXPECT_EQ(succeeded.load(), kCalls);
  EXPECT_EQ(begun.load(), ended.load());
  const engine::Tally tally = dependency_.tally();
  EXPECT_EQ(tally.in_flight(), 0u);
  EXPECT_EQ(tally.of(Verdict::success), 100u + kCalls);
  EXPECT_EQ(tally.attempts, 100u + static_cast<unsigned>(begun.load()));
  EXPECT_LE(tally.hedges_won, tally.hedges);
}

}  // namespace
}  // namespace damper
