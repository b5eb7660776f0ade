#include "damper/demo/storm.h"

#include <gtest/gtest.h>

#include <numeric>

namespace damper::demo {
namespace {

using namespace std::chrono_literals;

// Two clients, a call each 500 ms; down from 1 s to 2 s, over at 4 s.
const StormOptions kSmall{.clients = 2, .every = 500ms, .calm = 1s, .down = 1s, .after = 2s};

TEST(Storm, TheTallestBucketOfRetriesIsFound) {
  const LaneRecord lane{.attempts = {2, 5, 4}, .retries = {0, 3, 1}};
  EXPECT_EQ(find(lane, kSmall).tallest_retries, 3);
  EXPECT_EQ(find(lane, kSmall).attempts, 11);
}

TEST(Storm, AttemptsPerCallAreAllThoseOfTheCallsThatStartedWhileItWasDown) {
  const LaneRecord lane{.calls = {{.started = 999ms, .attempts = 1, .answered = true},
                                  {.started = 1s, .attempts = 4},
                                  {.started = 1999ms, .ended = 3s, .attempts = 3, .answered = true},
                                  {.started = 2s, .attempts = 8, .answered = true}},
                        .attempts = {16}};
  const Findings findings = find(lane, kSmall);
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

LaneRecord successes_at(const std::vector<Duration>& ends) {
  LaneRecord lane;
  for (const Duration end : ends) {
    lane.calls.push_back({.started = end, .ended = end, .answered = true});
  }
  return lane;
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
  LaneRecord lane = successes_at({2s, 2s});
  lane.calls[1].answered = false;
  EXPECT_EQ(find(lane, kSmall).back_after, std::nullopt);
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

std::uint64_t sum(const std::vector<std::uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// What must hold of any record, however late the machine's threads are.
void expect_consistent(const LaneRecord& lane, const StormOptions& options,
                       std::uint32_t max_attempts) {
  std::size_t attempts = 0;
  std::int64_t succeeded = 0;
  for (const LoadCall& call : lane.calls) {
    EXPECT_LE(call.started, call.ended);
    EXPECT_GE(call.attempts, 1U);
    EXPECT_LE(call.attempts, max_attempts);
    attempts += call.attempts;
    succeeded += call.answered ? 1 : 0;
  }
  EXPECT_EQ(attempts, sum(lane.attempts));
  EXPECT_EQ(lane.calls.size(), sum(lane.attempts) - sum(lane.retries));  // The first tries.
  EXPECT_EQ(lane.calls.size(), sum(lane.started));
  const Findings findings = find(lane, options);
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
  std::size_t watched = 0;
  const auto record = run_storm(
      options, [&](const StormRecord& seen) { EXPECT_EQ(seen.naive.attempts.size(), ++watched); });
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(watched, 5U);  // After 100, 200, ..., 500 ms.
  expect_consistent(record->naive, options, 3);
  expect_consistent(record->guarded, options, 3);
  EXPECT_GT(sum(record->naive.retries), sum(record->guarded.retries));

  // The guarded clients' Dependency has counted the same.
  const Findings guarded = find(record->guarded, options);
  EXPECT_EQ(record->tally.started, record->guarded.calls.size());
  EXPECT_EQ(record->tally.finished, record->guarded.calls.size());
  EXPECT_EQ(record->tally.attempts, sum(record->guarded.attempts));
  EXPECT_EQ(record->tally.of(Verdict::success), static_cast<std::uint64_t>(guarded.succeeded));
  EXPECT_LE(record->tally.all_retries() * 10, record->tally.started);  // The budget: 10 %.
}

}  // namespace
}  // namespace damper::demo
