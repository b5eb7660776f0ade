#include "damper/demo/storm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace damper::demo {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

TEST(Backend, ServesItsLineInOrderOneServiceEach) {
  Backend backend({.capacity_per_second = 4}, kStart);
  EXPECT_EQ(backend.admit(kStart, 1), kStart + 250ms);
  EXPECT_EQ(backend.admit(kStart, 1), kStart + 500ms);          // Behind the first.
  EXPECT_EQ(backend.admit(kStart + 100ms, 2), kStart + 750ms);  // Behind the second.
  EXPECT_EQ(backend.admit(kStart + 1s, 1), kStart + 1250ms);    // Nobody is there any more.
}

TEST(Backend, IsDownFromItsFirstInstantToBeforeItsReturn) {
  Backend backend({.capacity_per_second = 1000, .calm = 2s, .down = 10s}, kStart);
  EXPECT_TRUE(backend.admit(kStart + 2s - 1ns, 1));
  EXPECT_FALSE(backend.admit(kStart + 2s, 1));
  EXPECT_FALSE(backend.admit(kStart + 12s - 1ns, 2));
  EXPECT_EQ(backend.admit(kStart + 12s, 3), kStart + 12s + 1ms);  // A 503 took no place in line.
  EXPECT_EQ(backend.count().first_tries, 2U);
  EXPECT_EQ(backend.count().retries, 2U);
  EXPECT_EQ(backend.count().served, 2U);
}

TEST(Backend, GivesEachPlaceOnceUnderContention) {
  Backend backend({.capacity_per_second = 1000, .calm = 1h}, kStart);
  std::vector<std::vector<Instant>> answers(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : answers) {
      threads.emplace_back([&backend, &mine] {
        for (int i = 0; i < 1000; ++i) mine.push_back(*backend.admit(kStart, 1));
      });
    }
  }
  std::vector<Instant> all;
  for (const auto& mine : answers) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], kStart + 1ms * static_cast<std::int64_t>(i + 1));
  }
  EXPECT_EQ(all.size(), 4000U);
}

TEST(Storm, ABusyClientLeavesOutTheCallsThatItMissed) {
  EXPECT_EQ(next_call(0ms, 500ms), 1);
  EXPECT_EQ(next_call(499ms, 500ms), 1);
  EXPECT_EQ(next_call(500ms, 500ms), 2);  // The call at 500 ms was due while it was busy.
  EXPECT_EQ(next_call(7001ms, 500ms), 15);
}

// Two clients, a call each 500 ms; down from 1 s to 2 s, over at 4 s.
const StormOptions kSmall{.clients = 2, .every = 500ms, .calm = 1s, .down = 1s, .after = 2s};

TEST(Storm, ArrivalsAreBucketedFirstTriesAndRetriesApart) {
  const FleetRecord fleet{.arrivals = {{.at = 0ms, .attempt = 1},
                                       {.at = 99ms, .attempt = 1},
                                       {.at = 100ms, .attempt = 1},
                                       {.at = 100ms, .attempt = 2},
                                       {.at = 3999ms, .attempt = 3},
                                       {.at = 9s, .attempt = 4}},
                          .calls = {}};
  const Buckets buckets = bucketed(fleet, kSmall);
  std::vector<int> first_tries(40);
  first_tries[0] = 2;
  first_tries[1] = 1;
  std::vector<int> retries(40);
  retries[1] = 1;
  retries[39] = 2;  // The one that came after the end as well.
  EXPECT_EQ(buckets.first_tries, first_tries);
  EXPECT_EQ(buckets.retries, retries);
  EXPECT_EQ(find(fleet, kSmall).tallest_retries, 2);
}

TEST(Storm, AttemptsPerCallAreAllThoseOfTheCallsThatStartedWhileItWasDown) {
  const FleetRecord fleet{.arrivals = std::vector<Arrival>(16),
                          .calls = {{.started = 999ms, .attempts = 1},
                                    {.started = 1s, .attempts = 4, .succeeded = false},
                                    {.started = 1999ms, .ended = 3s, .attempts = 3},
                                    {.started = 2s, .attempts = 8}}};
  const Findings findings = find(fleet, kSmall);
  EXPECT_EQ(findings.attempts_per_call, 3.5);  // 7 of 2 calls.
  EXPECT_EQ(findings.offered, 16);             // 2 clients at 0, 0.5, ..., 3.5 s.
  EXPECT_EQ(findings.calls, 4);
  EXPECT_EQ(findings.succeeded, 3);
  EXPECT_EQ(findings.attempts, 16);
}

TEST(Storm, WithoutCallsThereIsNothingToFind) {
  const Findings findings = find({}, kSmall);
  EXPECT_EQ(findings.attempts_per_call, 0);
  EXPECT_EQ(findings.tallest_retries, 0);
  EXPECT_EQ(findings.back_after, std::nullopt);
}

FleetRecord successes_at(const std::vector<Duration>& ends) {
  FleetRecord fleet;
  for (const Duration end : ends) fleet.calls.push_back({.started = end, .ended = end});
  return fleet;
}

TEST(Storm, ItIsBackInTheFirstWindowThatServesWhatWasOffered) {
  EXPECT_EQ(find(successes_at({2s, 2499ms}), kSmall).back_after, 0ms);
  EXPECT_EQ(find(successes_at({2s, 2500ms}), kSmall).back_after, std::nullopt);  // Half, and half.
  EXPECT_EQ(find(successes_at({2s, 2500ms, 2999ms}), kSmall).back_after, 500ms);
  EXPECT_EQ(find(successes_at({1999ms, 1999ms}), kSmall).back_after, std::nullopt);  // Before.
  EXPECT_EQ(find(successes_at({3500ms, 3999ms}), kSmall).back_after, 1500ms);
  EXPECT_EQ(find(successes_at({4s, 4s}), kSmall).back_after, std::nullopt);  // After the end.
}

TEST(Storm, AFailureIsNoGoodput) {
  FleetRecord fleet = successes_at({2s, 2s});
  fleet.calls[1].succeeded = false;
  EXPECT_EQ(find(fleet, kSmall).back_after, std::nullopt);
}

TEST(Storm, FullMeansNinetyNinePercent) {
  StormOptions options = kSmall;
  options.clients = 200;
  EXPECT_EQ(find(successes_at(std::vector<Duration>(197, 2s)), options).back_after, std::nullopt);
  EXPECT_EQ(find(successes_at(std::vector<Duration>(198, 2s)), options).back_after, 0ms);
}

TEST(Storm, EachPromiseHoldsUpToItsBound) {
  const Findings naive{.attempts_per_call = 3.01, .tallest_retries = 500};
  const Findings guarded{.attempts_per_call = 1.12, .tallest_retries = 100, .back_after = 2s};
  for (const Promise& promise : promises(naive, guarded)) EXPECT_TRUE(promise.held);

  const auto broken = [](const Findings& one, const Findings& other) {
    std::string which;
    for (const Promise& promise : promises(one, other)) which += promise.held ? '.' : 'x';
    return which;
  };
  Findings calm = naive;
  calm.attempts_per_call = 3;
  EXPECT_EQ(broken(calm, guarded), "x...");
  Findings other = guarded;
  other.attempts_per_call = 1.121;
  EXPECT_EQ(broken(naive, other), ".x..");
  other = guarded;
  other.tallest_retries = 101;
  EXPECT_EQ(broken(naive, other), "..x.");
  other = guarded;
  other.back_after = 2500ms;
  EXPECT_EQ(broken(naive, other), "...x");
  other.back_after = std::nullopt;
  EXPECT_EQ(broken(naive, other), "...x");
}

// What must hold of any record, however late the machine's threads are.
void expect_consistent(const FleetRecord& fleet, const StormOptions& options,
                       std::uint32_t max_attempts) {
  std::size_t attempts = 0;
  std::int64_t succeeded = 0;
  for (const CallRecord& call : fleet.calls) {
    EXPECT_LE(call.started, call.ended);
    EXPECT_GE(call.attempts, 1U);
    EXPECT_LE(call.attempts, max_attempts);
    attempts += call.attempts;
    succeeded += call.succeeded ? 1 : 0;
  }
  EXPECT_EQ(attempts, fleet.arrivals.size());
  std::size_t first_tries = 0;
  std::int64_t served = 0;
  for (const Arrival& arrival : fleet.arrivals) {
    EXPECT_EQ(arrival.served, !options.is_down(arrival.at));
    first_tries += arrival.attempt == 1 ? 1 : 0;
    served += arrival.served ? 1 : 0;
  }
  EXPECT_EQ(first_tries, fleet.calls.size());
  EXPECT_EQ(succeeded, served);
  const Findings findings = find(fleet, options);
  EXPECT_EQ(findings.succeeded, succeeded);
  EXPECT_LE(findings.calls, findings.offered);
  EXPECT_GE(findings.calls, options.clients);  // Each made at least its first.
}

TEST(Storm, ARealRunIsRecordedCompletely) {
  StormOptions options{.clients = 20,
                       .every = 20ms,
                       .capacity_per_second = 3000,
                       .calm = 100ms,
                       .down = 300ms,
                       .after = 100ms,
                       .naive_attempts = 3,
                       .naive_delay = 40ms};
  options.policy.call.backoff.base = 20ms;
  options.policy.budget.window = 1h;
  options.policy.budget.reserve = 0;
  options.policy.call.timeout = 1h;  // However late a thread is, no call is.
  int told = 0;
  const StormRecord record = run_storm(options, [&](const StormProgress& progress) {
    ++told;
    EXPECT_EQ(progress.down, options.is_down(progress.at));
  });
  EXPECT_EQ(told, 6);  // At 0, 100, ..., 500 ms.
  expect_consistent(record.naive, options, 3);
  expect_consistent(record.guarded, options, 3);

  // The guarded fleet's Dependency has counted the same.
  const Findings guarded = find(record.guarded, options);
  EXPECT_EQ(record.tally.started, record.guarded.calls.size());
  EXPECT_EQ(record.tally.finished, record.guarded.calls.size());
  EXPECT_EQ(record.tally.attempts, record.guarded.arrivals.size());
  EXPECT_EQ(record.tally.of(Verdict::success), static_cast<std::uint64_t>(guarded.succeeded));
  EXPECT_LE(record.tally.all_retries() * 10, record.tally.started);  // The budget: 10 %.
}

}  // namespace
}  // namespace damper::demo
