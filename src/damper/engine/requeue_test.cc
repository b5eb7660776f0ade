#include "damper/engine/requeue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/engine/requeue_testing.h"

namespace damper::engine {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::Report;
using What = Requeue::What;

TEST(Requeue, AFailureWaitsForItsBackoffAndASuccessForgetsIt) {
  Requeue requeue(plain());
  KeyRecord key;
  Instant now = kStart;
  for (const Duration wait : {10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms}) {
    const auto next = run(requeue, key, Outcome::transient, now);
    EXPECT_EQ(next.what, What::wait);
    EXPECT_EQ(next.due - now, wait);
    now = next.due;
  }
  EXPECT_EQ(key.failures, 9u);
  EXPECT_EQ(run(requeue, key, Outcome::success, now).what, What::forget);
  EXPECT_EQ(key.failures, 0u);
  EXPECT_EQ(run(requeue, key, Outcome::transient, now).due - now, 10ms);
  EXPECT_EQ(requeue.counts().runs, 11u);
  EXPECT_EQ(requeue.counts().retries[static_cast<std::size_t>(Outcome::transient)], 9u);
}

TEST(Requeue, TheBackoffIsJitteredByTheDraw) {  // Trap Q7.
  RequeuePolicy policy = plain();
  policy.backoff.jitter = schedule::Jitter::full;
  Requeue requeue(policy);
  for (const auto& [draw, wait] :
       {std::pair<double, Duration>{0, 0ns}, {0.25, 2500us}, {kLargestDraw, 10ms - 1ns}}) {
    KeyRecord key;
    EXPECT_EQ(run(requeue, key, Report{.outcome = Outcome::transient}, kStart, draw).due - kStart,
              wait);
  }
}

// Invariant (3).
TEST(Requeue, ThePolicySaysWhatIsRetryable) {
  RequeuePolicy policy = plain();
  policy.retryable = {Outcome::timeout};
  Requeue requeue(policy);
  KeyRecord one;
  EXPECT_EQ(run(requeue, one, Outcome::transient).verdict, Verdict::not_retryable);
  KeyRecord two;
  EXPECT_EQ(run(requeue, two, Outcome::timeout).what, What::wait);
}

TEST(Requeue, AnOverloadWaitsLongerThanOtherFailures) {
  RequeuePolicy policy = plain();
  Requeue requeue(policy);
  KeyRecord key;
  EXPECT_EQ(run(requeue, key, Outcome::overload).due - kStart, 100ms);
  EXPECT_EQ(run(requeue, key, Outcome::overload).due - kStart, 200ms);
  EXPECT_EQ(run(requeue, key, Outcome::transient).due - kStart, 40ms);  // As the third failure.

  policy.backoff.jitter = schedule::Jitter::full;
  Requeue jittered(policy);
  KeyRecord other;  // Even with the smallest draw.
  EXPECT_EQ(run(jittered, other, Report{.outcome = Outcome::overload}, kStart, 0).due - kStart,
            50ms);
}

// Invariant (2).
TEST(Requeue, TheServersWordIsNeverUndercutAndJitterComesOnTop) {
  RequeuePolicy policy = plain();
  policy.backoff.jitter = schedule::Jitter::full;
  Requeue requeue(policy);
  for (const Outcome outcome : {Outcome::overload, Outcome::transient}) {
    KeyRecord key;
    const auto next =
        run(requeue, key, Report{.outcome = outcome, .retry_after = 30s}, kStart, 0.5);
    EXPECT_EQ(next.due - kStart, 30s + 5ms);
    // An event brings it early: it waits until the server's time and a moment, never longer than it
    // would have without the event.
    const auto early = requeue.start(key, kStart + 10s, 0.5);
    EXPECT_EQ(early.held_for, Verdict::pushed_back);
    EXPECT_EQ(early.until - kStart, 30s + 5ms);
    EXPECT_EQ(requeue.start(key, kStart + 30s - 1ns, 0.5).held_for, Verdict::pushed_back);
    EXPECT_TRUE(requeue.start(key, kStart + 30s, 0.5).goes());
  }
  EXPECT_EQ(requeue.counts().held_by_server, 4u);
}

TEST(Requeue, KeysHeldByTheServerDoNotAllComeAtItsInstant) {
  RequeuePolicy policy = plain();
  policy.backoff.base = 100s;
  policy.backoff.cap = 100s;
  Requeue requeue(policy);
  KeyRecord key;
  EXPECT_EQ(run(requeue, key, Report{.outcome = Outcome::transient, .retry_after = 30s}).due,
            kStart + 130s);
  EXPECT_EQ(requeue.start(key, kStart + 1s, 0).until, kStart + 31s);
  EXPECT_EQ(requeue.start(key, kStart + 1s, 0.5).until, kStart + 31s + 500ms);
}

TEST(Requeue, OfTwoWordsOfTheServerTheLaterOneStands) {
  Requeue requeue(plain());
  KeyRecord key;
  (void)run(requeue, key, Report{.outcome = Outcome::transient, .retry_after = 0s});
  (void)run(requeue, key, Report{.outcome = Outcome::transient, .retry_after = 9s});
  EXPECT_EQ(key.not_before, kStart + 9s);
  EXPECT_EQ(requeue.start(key, kStart + 8s, 0).held_for, Verdict::pushed_back);
  KeyRecord forever;  // "In a million years": it waits, and no sum wraps around.
  EXPECT_EQ(
      run(requeue, forever, Report{.outcome = Outcome::overload, .retry_after = kForever}).due,
      kNever);
  EXPECT_EQ(requeue.start(forever, kStart + 1000h, 0).until, kNever);
}

// Invariant (4).
TEST(Requeue, AKeyThatIsHeldLosesNothing) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(0), .reserve = 0, .min_per_second = 0};
  policy.max_attempts = 2;
  Requeue requeue(policy);
  KeyRecord key;
  const Instant due = run(requeue, key, Outcome::transient).due;  // The first failure.
  Instant now = due;
  for (const Duration wait : {1500ms, 3000ms, 3750ms, 3750ms, 3750ms}) {  // 1-2, 2-4, 2.5-5 s.
    const auto held = requeue.start(key, now, 0.5);
    EXPECT_EQ(held.held_for, Verdict::budget_spent);
    EXPECT_EQ(held.until - now, wait);
    now = held.until;
  }
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(requeue.start(key, now, 0.5).until - now, 3750ms);
  EXPECT_EQ(key.failures, 1u);
  EXPECT_EQ(requeue.counts().held_by_budget, 1005u);
  EXPECT_EQ(requeue.counts().runs, 1u);

  requeue.budget().reload({.percent = Percent(0), .reserve = 0, .min_per_second = 1}, now);
  another_succeeds(requeue, now);
  const auto last = run(requeue, key, Outcome::transient, now);
  EXPECT_EQ(last.verdict, Verdict::attempts_spent);  // The second failure, and no more.
  EXPECT_EQ(last.failures, 2);
}

TEST(Requeue, AHeldKeysNextHoldStartsShortAgainAfterItRan) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(0), .reserve = 0, .min_per_second = 1};  // 10 in 10 s.
  Requeue requeue(policy);
  KeyRecord key;
  (void)run(requeue, key, Outcome::transient);
  for (int i = 0; i < 10; ++i) (void)run(requeue, key, Outcome::transient, kStart + 5s);
  EXPECT_EQ(requeue.start(key, kStart + 6s, 0).until, kStart + 7s);
  EXPECT_EQ(requeue.start(key, kStart + 7s, 0).until, kStart + 9s);
  (void)run(requeue, key, Outcome::transient, kStart + 30s);
  for (int i = 0; i < 9; ++i) (void)run(requeue, key, Outcome::transient, kStart + 30s);
  EXPECT_EQ(requeue.start(key, kStart + 32s, 0).until, kStart + 33s);
}

TEST(Requeue, AnEarlyEventRunsTheKeyIfTheBudgetAllowsAndElseItWaitsForTheRestOfItsBackoff) {
  RequeuePolicy policy = plain();
  policy.backoff = {.jitter = schedule::Jitter::none, .base = 60s, .cap = 60s};
  policy.budget = {.percent = Percent(0), .reserve = 1, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord one;
  KeyRecord two;
  EXPECT_EQ(run(requeue, one, Outcome::transient).due, kStart + 60s);
  EXPECT_EQ(run(requeue, two, Outcome::transient).due, kStart + 60s);
  EXPECT_TRUE(requeue.start(one, kStart + 1s, 0.5).goes());  // From the reserve.
  for (const Duration after : {2s, 3s, 59s}) {
    const auto held = requeue.start(two, kStart + after, 0.5);
    EXPECT_EQ(held.held_for, Verdict::budget_spent);
    EXPECT_EQ(held.until, kStart + 60s);
  }
  EXPECT_EQ(two.holds, 0);  // Its own holds begin when its backoff is over.
  EXPECT_EQ(requeue.start(two, kStart + 60s, 0.5).until, kStart + 61s + 500ms);
}

// The second key's backoff is over; the first key comes early, by an event.
TEST(Requeue, ADueKeyWithoutBudgetGoesBeforeEarlyOnesForFiveSeconds) {
  RequeuePolicy policy = plain();
  policy.backoff = {.jitter = schedule::Jitter::none, .base = 60s, .cap = 60s};
  policy.budget = {.percent = Percent(0), .reserve = 0, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord early;
  KeyRecord due;
  (void)run(requeue, early, Outcome::transient);
  (void)run(requeue, due, Outcome::transient, kStart - 60s);
  const auto held_at = [&](KeyRecord& key, Instant now) {
    return requeue.start(key, now, 0.5).held_for;
  };
  EXPECT_EQ(held_at(early, kStart), Verdict::budget_spent);  // This one holds no other back.
  policy.budget.min_per_second = 10;
  requeue.budget().reload(policy.budget, kStart);
  (void)run(requeue, early, Outcome::transient);
  policy.budget.min_per_second = 0;
  requeue.budget().reload(policy.budget, kStart);
  EXPECT_EQ(held_at(due, kStart), Verdict::budget_spent);
  policy.budget.min_per_second = 10;
  requeue.budget().reload(policy.budget, kStart);
  EXPECT_EQ(held_at(early, kStart + 5s - 1ns), Verdict::budget_spent);
  EXPECT_EQ(held_at(early, kStart + 5s), Verdict::none);
}

TEST(Requeue, ASuccessRefillsTheReserve) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(0), .reserve = 1, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord key;
  (void)run(requeue, key, Outcome::transient);
  (void)run(requeue, key, Outcome::transient, kStart + 1s);
  EXPECT_FALSE(key.grant);  // A key that waits has no payment.
  EXPECT_EQ(requeue.start(key, kStart + 30s, 0).held_for, Verdict::budget_spent);
  another_succeeds(requeue, kStart + 30s);
  EXPECT_TRUE(requeue.start(key, kStart + 40s, 0).goes());
}

TEST(Requeue, TheKillSwitchHoldsRetriesAndFirstRunsGoOn) {  // Invariant (2), trap K1.
  Requeue requeue(plain());
  KeyRecord failing;
  KeyRecord healthy;
  (void)run(requeue, failing, Outcome::transient);
  requeue.switches().set(admit::Switch::retries, {.off = true, .until = kStart + 60s});
  const auto held = requeue.start(failing, kStart + 1s, 0.5);
  EXPECT_EQ(held.held_for, Verdict::switched_off);
  EXPECT_EQ(held.until, kStart + 1s + 1500ms);
  EXPECT_EQ(run(requeue, healthy, Outcome::success, kStart + 1s).what, What::forget);
  EXPECT_EQ(requeue.counts().held_by_switch, 1u);
  EXPECT_EQ(requeue.start(failing, kStart + 60s - 1ns, 0).held_for, Verdict::switched_off);
  EXPECT_TRUE(requeue.start(failing, kStart + 60s, 0).goes());  // It has expired.
}

TEST(Requeue, TheProcesssSwitchHoldsToo) {
  admit::Switches process;
  Requeue requeue(plain(), {.budget = nullptr, .switches = &process});
  KeyRecord key;
  (void)run(requeue, key, Outcome::transient);
  process.set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(requeue.start(key, kStart + 1s, 0).held_for, Verdict::switched_off);
  process.clear(admit::Switch::retries);
  EXPECT_TRUE(requeue.start(key, kStart + 2s, 0).goes());
}

TEST(Requeue, AFirstRunEarnsItsShareOfARetryAndARetryEarnsNothing) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(50), .reserve = 0, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord key;
  (void)run(requeue, key, Outcome::transient);
  EXPECT_EQ(requeue.start(key, kStart + 1s, 0).held_for, Verdict::budget_spent);  // Half of one.
  KeyRecord healthy;
  (void)run(requeue, healthy, Outcome::success, kStart + 1s);
  (void)run(requeue, key, Outcome::transient, kStart + 1s);  // One.
  EXPECT_EQ(requeue.start(key, kStart + 2s, 0).held_for, Verdict::budget_spent);
}

TEST(Requeue, BothBudgetsPayForARetryOrNone) {
  admit::RetryBudget process({.percent = Percent(0), .reserve = 2, .min_per_second = 0});
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(0), .reserve = 10, .min_per_second = 0};
  Requeue requeue(policy, {.budget = &process, .switches = nullptr});
  KeyRecord key;
  (void)run(requeue, key, Outcome::transient);
  (void)run(requeue, key, Outcome::transient, kStart + 1s);
  (void)run(requeue, key, Outcome::transient, kStart + 2s);
  EXPECT_EQ(requeue.start(key, kStart + 3s, 0).held_for, Verdict::budget_spent);
  EXPECT_EQ(process.balance(kStart + 3s), 0);
  EXPECT_EQ(requeue.budget().balance(kStart + 3s), 8);  // Two were paid, not three.
}

TEST(Requeue, ACancelledRunCountsAsNotRunAndItsRetryIsRefunded) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(0), .reserve = 5, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord key;
  const Instant due = run(requeue, key, Outcome::transient).due;
  const double before = requeue.budget().balance(due);
  const auto next = run(requeue, key, Outcome::cancelled, due);
  EXPECT_EQ(next.what, What::wait);
  EXPECT_EQ(next.due, due);
  EXPECT_FALSE(next.event);
  EXPECT_EQ(key.failures, 1u);
  EXPECT_FALSE(key.grant);
  EXPECT_EQ(requeue.budget().balance(due), before);
  KeyRecord first;  // Without a payment.
  EXPECT_EQ(run(requeue, first, Outcome::cancelled, due).due, due);
  EXPECT_EQ(first.failures, 0u);
}

TEST(Requeue, TheBoundOnRetriesUnderWayCountsRunsUnderWay) {
  RequeuePolicy policy = plain();
  policy.budget = {.percent = Percent(50), .reserve = 1000, .min_retry_concurrency = 0};
  Requeue requeue(policy);
  std::vector<KeyRecord> failing(2);
  for (KeyRecord& key : failing) (void)run(requeue, key, Outcome::transient);
  std::vector<KeyRecord> healthy(2);
  for (KeyRecord& key : healthy) EXPECT_TRUE(requeue.start(key, kStart + 1s, 0).goes());
  EXPECT_TRUE(requeue.start(failing[0], kStart + 1s, 0).goes());  // Half of two.
  EXPECT_EQ(requeue.start(failing[1], kStart + 1s, 0).held_for, Verdict::budget_spent);
  (void)requeue.on_outcome(failing[0], {.outcome = Outcome::transient}, kStart + 1s, 0);
  EXPECT_TRUE(requeue.start(failing[1], kStart + 2s, 0).goes());
}

TEST(Requeue, NoMoreRunsThanTheRateAllowsAndAHeldKeyTakesNoToken) {  // Invariant (5).
  RequeuePolicy policy = plain();
  policy.rate = {.rate_per_second = 10, .burst = 2};
  policy.budget = {.percent = Percent(0), .reserve = 0, .min_per_second = 0};
  Requeue requeue(policy);
  KeyRecord failing;
  (void)run(requeue, failing, Outcome::transient);
  EXPECT_EQ(requeue.start(failing, kStart, 0).held_for, Verdict::budget_spent);
  EXPECT_EQ(requeue.rate_wait(kStart), 0ns);
  KeyRecord healthy;
  EXPECT_TRUE(requeue.start(healthy, kStart, 0).goes());
  EXPECT_EQ(requeue.rate_wait(kStart), 100ms);
  EXPECT_GE(requeue.rate_wait(kStart + 99ms), 1ms);  // To the bucket's unit.
  EXPECT_LE(requeue.rate_wait(kStart + 99ms), 1ms + 4ns);
  EXPECT_EQ(requeue.rate_wait(kStart + 100ms), 0ns);
  EXPECT_DEATH((void)requeue.start(healthy, kStart + 50ms, 0), "check failed");
  EXPECT_EQ(Requeue(plain()).rate_wait(kStart), 0ns);
}

TEST(Requeue, ARunHasADeadline) {
  RequeuePolicy policy = plain();
  EXPECT_EQ(Requeue(policy).deadline(kStart), kStart + 30s);
  policy.timeout = 5s;
  EXPECT_EQ(Requeue(policy).deadline(kStart), kStart + 5s);
}

TEST(Requeue, TheLogHearsOfTransitionsAlone) {
  RequeuePolicy policy = plain();
  policy.max_attempts = 0;
  Requeue requeue(policy);
  KeyRecord key;
  std::string heard;
  Instant now = kStart;
  for (int i = 1; i <= 1000; ++i) {
    const auto next = run(requeue, key, Outcome::transient, now);
    now = next.due;
    if (next.event) {
      heard += std::to_string(next.failures) + " " + std::string(name(*next.event)) + "; ";
    }
  }
  EXPECT_EQ(heard,
            "1 first_failure; 3 backoff_growing; 10 repeated_failure; 100 repeated_failure; "
            "1000 repeated_failure; ");
  const auto well = run(requeue, key, Outcome::success, now);
  EXPECT_EQ(well.event, EventKind::recovered);
  EXPECT_EQ(well.failures, 1000);
  EXPECT_FALSE(run(requeue, key, Outcome::success, now).event);
  (void)run(requeue, key, Outcome::transient, now);
  (void)run(requeue, key, Outcome::transient, now);
  EXPECT_FALSE(run(requeue, key, Outcome::success, now).event);  // Two are no news.
  for (int i = 0; i < 3; ++i) (void)run(requeue, key, Outcome::transient, now);
  EXPECT_EQ(run(requeue, key, Outcome::success, now).event, EventKind::recovered);
}

// Invariant (1): over random runs of many keys, in any window of ten seconds, the retries that fail
// are at most a tenth of the first runs in it, ten for the floor and three of the reserve; a
// deposit may count a tenth of the window less, a withdrawal a tenth more.
TEST(Requeue, FailedRetriesKeepTheBudgetsBoundInEveryWindow) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    RequeuePolicy policy = plain();
    policy.max_attempts = 0;
    policy.backoff.jitter = schedule::Jitter::full;
    policy.budget = {.min_per_second = 1};
    Requeue requeue(policy);
    std::vector<KeyRecord> keys(50);
    std::vector<Instant> firsts;
    std::vector<Instant> retries;
    Instant now = kStart;
    for (int i = 0; i < 20'000; ++i) {
      now += Duration(static_cast<std::int64_t>(random.draw() * 4e6));
      KeyRecord& key = keys[static_cast<std::size_t>(random.draw() * 50)];
      const bool first = key.failures == 0;
      if (!requeue.start(key, now, random.draw()).goes()) continue;
      const Outcome outcome = random.draw() < 0.3 ? Outcome::transient : Outcome::success;
      if (first) firsts.push_back(now);
      if (!first && outcome != Outcome::success) retries.push_back(now);
      (void)requeue.on_outcome(key, {.outcome = outcome}, now, random.draw());
    }
    const auto in_window = [](const std::vector<Instant>& of, Instant from, Instant to) {
      return std::upper_bound(of.begin(), of.end(), to) -
             std::lower_bound(of.begin(), of.end(), from);
    };
    ASSERT_GT(retries.size(), 50u) << "seed " << seed;
    for (const Instant at : retries) {
      const auto paid = in_window(retries, at - 9s, at);
      const auto earned = in_window(firsts, at - 10s, at);
      ASSERT_LE(static_cast<double>(paid), 0.1 * static_cast<double>(earned) + 13)
          << "seed " << seed;
    }
  }
}

// After an outage: a hundred keys have failed and none gets an event. Each retry that succeeds pays
// for another one, so they are not bound to one a second.
TEST(Requeue, ARetryThatSucceedsGivesBackWhatItPaid) {
  RequeuePolicy policy = plain();
  policy.budget = {.window = 1s, .reserve = 0, .min_per_second = 1};
  Requeue requeue(policy);
  std::vector<KeyRecord> keys(100);
  for (KeyRecord& key : keys) key.failures = 1;
  int retried = 0;
  for (KeyRecord& key : keys) {
    if (!requeue.start(key, kStart, 0.5).goes()) continue;
    ++retried;
    (void)requeue.on_outcome(key, {.outcome = Outcome::success}, kStart, 0.5);
  }
  EXPECT_EQ(retried, 100);
  retried = 0;
  for (KeyRecord& key : keys) {
    key.failures = 1;
    if (!requeue.start(key, kStart + 10s, 0.5).goes()) continue;
    ++retried;
    (void)requeue.on_outcome(key, {.outcome = Outcome::transient}, kStart + 10s, 0.5);
  }
  EXPECT_EQ(retried, 1);
}

TEST(Requeue, APolicyThatCannotBeIsSaidInOneSentence) {
  EXPECT_EQ(find_error(RequeuePolicy{}), std::nullopt);
  EXPECT_EQ(find_error(plain()), std::nullopt);
  const auto error = [](auto&& change) {
    RequeuePolicy policy;
    change(policy);
    return find_error(policy).value_or("");
  };
  EXPECT_EQ(error([](RequeuePolicy& p) { p.timeout = 0s; }),
            "timeout is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.timeout = 721h; }),
            "timeout is 721h; it must be from 1ns to 720h");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.timeout = kLongest; }), "");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.max_attempts = -1; }),
            "max_attempts is -1; it must be from 0 to 1000000");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.max_attempts = 1'000'001; }),
            "max_attempts is 1000001; it must be from 0 to 1000000");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.max_attempts = 1'000'000; }), "");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.backoff.base = 0s; }),
            "backoff.base is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.overload_base = 0s; }),
            "overload_base is 0s; it must be from 1ns to 1000s");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.overload_base = 1001s; }),
            "overload_base is 1001s; it must be from 1ns to 1000s");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.budget.reserve = -1; }),
            "budget.reserve is -1; it must be from 0 to 1000");
  EXPECT_EQ(error([](RequeuePolicy& p) { p.rate = {.rate_per_second = 0}; }),
            "rate.rate_per_second is 0; it must be from 0.001 to 100000000");
  EXPECT_DEATH(Requeue(RequeuePolicy{.timeout = 0s}),
               "check failed: timeout is 0s; it must be from 1ns to 720h at");
}

}  // namespace
}  // namespace damper::engine
