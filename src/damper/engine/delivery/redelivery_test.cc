#include "damper/engine/delivery/redelivery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "damper/base/random.h"

namespace damper::engine {
namespace {

using decide::Outcome;
using decide::Report;
using std::chrono::hours, std::chrono::minutes, std::chrono::seconds, std::chrono::milliseconds;
using What = Redelivery::What;

[[nodiscard]] Report with_time(Outcome outcome, Duration retry_after) {
  return {.outcome = outcome, .retry_after = retry_after};
}

TEST(Redelivery, FollowsTheListAndEndsAfterIt) {
  const DeliveryPolicy policy;
  DeliveryRecord record;
  Duration age{0};
  for (const Duration step : policy.retries.steps()) {
    const auto next = decide_redelivery(policy, record, {.outcome = Outcome::transient}, age, 0.5);
    ASSERT_EQ(next.what, What::again);
    EXPECT_EQ(next.delay, step);
    EXPECT_EQ(record.previous_delay, step);
    age += step;
  }
  EXPECT_EQ(record.attempts, 9U);
  const auto last = decide_redelivery(policy, record, {.outcome = Outcome::timeout}, age, 0.5);
  EXPECT_EQ(last.what, What::dead);
  EXPECT_EQ(last.verdict, Verdict::attempts_spent);
  EXPECT_EQ(record.previous_delay, policy.retries.steps().back());
}

TEST(Redelivery, ASuccessEndsItAndChangesNothing) {
  DeliveryRecord record{.attempts = 3, .previous_delay = seconds(7)};
  EXPECT_EQ(decide_redelivery({}, record, {}, hours(1), 0.5).what, What::delivered);
  EXPECT_EQ(record.attempts, 3U);
  EXPECT_EQ(record.previous_delay, seconds(7));
}

TEST(Redelivery, WithoutARetryTimeTheDelayIsTheSchedules) {
  DeliveryPolicy policy;
  policy.retries =
      *schedule::ListedDelays::from(std::vector<Duration>{milliseconds(100)}, Percent(0));
  DeliveryRecord record;
  EXPECT_EQ(
      decide_redelivery(policy, record, {.outcome = Outcome::transient}, seconds(1), 0.9).delay,
      milliseconds(100));
}

TEST(Redelivery, AnAnswerThatIsNotASuccessIsRetriedWhateverItsStatus) {
  for (const Outcome outcome : {Outcome::permanent, Outcome::conflict, Outcome::overload,
                                Outcome::unavailable, Outcome::transient, Outcome::timeout}) {
    DeliveryRecord record;
    EXPECT_EQ(decide_redelivery({}, record, {.outcome = outcome}, seconds(1), 0.5).what,
              What::again)
        << name(outcome);
  }
}

TEST(Redelivery, AnEndpointThatIsGoneEndsIt) {
  DeliveryRecord record;
  const Report gone{.outcome = Outcome::permanent, .do_not_retry = true};
  const auto next = decide_redelivery({}, record, gone, seconds(1), 0.5);
  EXPECT_EQ(next.what, What::dead);
  EXPECT_EQ(next.verdict, Verdict::pushed_back);
}

TEST(Redelivery, ACancelledAttemptCountsNothing) {
  DeliveryRecord record{.attempts = 3, .previous_delay = seconds(7)};
  const auto next = decide_redelivery({}, record, {.outcome = Outcome::cancelled}, hours(1), 0);
  EXPECT_EQ(next.what, What::again);
  EXPECT_EQ(next.delay, seconds(1));
  EXPECT_EQ(record.attempts, 3U);
  EXPECT_EQ(record.previous_delay, seconds(7));
}

TEST(Redelivery, ARetryTimeOfAnOverloadIsNeverEarlyAndConsumesNoAttempt) {
  DeliveryRecord record;
  const Report report = with_time(Outcome::overload, minutes(10));
  const auto next = decide_redelivery({}, record, report, seconds(1), 0);
  EXPECT_EQ(next.what, What::again);
  EXPECT_EQ(next.delay, minutes(10));
  EXPECT_EQ(record.attempts, 0U);
  DeliveryRecord late;  // By half of a tenth.
  EXPECT_EQ(decide_redelivery({}, late, report, seconds(1), 0.5).delay, minutes(10) + seconds(30));
  // Twice the delay before it.
  DeliveryRecord again{.attempts = 1, .previous_delay = seconds(10)};
  EXPECT_EQ(
      decide_redelivery({}, again, with_time(Outcome::overload, Duration{0}), seconds(1), 0).delay,
      seconds(20));
}

TEST(Redelivery, ARetryTimeOfAnotherFailureIsNeverEarlyAndConsumesAnAttempt) {
  for (const Outcome outcome : {Outcome::transient, Outcome::permanent}) {
    DeliveryRecord record;
    const auto next = decide_redelivery({}, record, with_time(outcome, minutes(10)), seconds(1), 0);
    EXPECT_EQ(next.delay, minutes(10));
    EXPECT_EQ(record.attempts, 1U);
  }
}

TEST(Redelivery, AServerThatAlwaysSaysNowIsAskedMoreAndMoreRarely) {
  const DeliveryPolicy policy;
  DeliveryRecord record;
  Duration age{0};
  int attempts = 0;
  for (;; ++attempts) {
    const auto next =
        decide_redelivery(policy, record, with_time(Outcome::overload, Duration{0}), age, 0.5);
    if (next.what == What::dead) {
      EXPECT_EQ(next.verdict, Verdict::deadline_passed);
      break;
    }
    age += next.delay;
    ASSERT_LT(attempts, 100);
  }
  EXPECT_LT(attempts, 25);
  EXPECT_GT(attempts, 10);
}

TEST(Redelivery, ARetryTimeOfAYearIsHeldForTheLongestHold) {
  DeliveryRecord record;
  const auto next =
      decide_redelivery({}, record, with_time(Outcome::overload, kForever), seconds(1), 0);
  EXPECT_EQ(next.what, What::again);
  EXPECT_EQ(next.delay, DeliveryPolicy{}.longest_hold);
}

TEST(Redelivery, EndsByItsAge) {
  DeliveryPolicy policy;
  policy.max_age = minutes(1);
  DeliveryRecord record{.attempts = 1};
  const auto next =
      decide_redelivery(policy, record, {.outcome = Outcome::transient}, seconds(1), 0.5);
  EXPECT_EQ(next.what, What::dead);
  EXPECT_EQ(next.verdict, Verdict::deadline_passed);
  DeliveryRecord second;  // 5 s later it is exactly as old as it may be.
  EXPECT_EQ(
      decide_redelivery(policy, second, {.outcome = Outcome::transient}, seconds(55), 0.5).what,
      What::again);
  DeliveryRecord old;
  EXPECT_EQ(decide_redelivery(policy, old, {.outcome = Outcome::transient}, hours(5), 0.5).what,
            What::dead);
}

TEST(Redelivery, DecorrelatedJitterContinuesAfterARestart) {
  DeliveryPolicy policy;
  policy.backoff = schedule::BackoffOptions{
      .jitter = schedule::Jitter::decorrelated, .base = seconds(1), .cap = hours(1)};
  schedule::Backoff whole;
  DeliveryRecord record;
  Random random(7);
  for (std::uint32_t retry = 0; retry < 8; ++retry) {
    const double draw = random.draw();
    const auto next =
        decide_redelivery(policy, record, {.outcome = Outcome::transient}, seconds(1), draw);
    ASSERT_EQ(next.what, What::again);
    EXPECT_EQ(next.delay, whole.next(*policy.backoff, retry, draw));
    record = DeliveryRecord{record.attempts, record.previous_delay};  // stored and read
  }
  record.attempts = 9;
  EXPECT_EQ(
      decide_redelivery(policy, record, {.outcome = Outcome::transient}, seconds(1), 0).verdict,
      Verdict::attempts_spent);
}

TEST(Redelivery, ARetryTimeAfterABackoffDoublesItsDelay) {
  DeliveryPolicy policy;
  policy.backoff = schedule::BackoffOptions{
      .jitter = schedule::Jitter::none, .base = seconds(10), .cap = hours(1)};
  DeliveryRecord record;
  const auto next =
      decide_redelivery(policy, record, {.outcome = Outcome::timeout}, seconds(1), 0.5);
  EXPECT_EQ(next.delay, seconds(10));
  EXPECT_EQ(record.previous_delay, seconds(10));
}

// 10,000 deliveries fail in one instant: how many of their first retries are in the fullest 100 ms.
[[nodiscard]] std::size_t tallest(const DeliveryPolicy& policy) {
  Random random(42);
  std::vector<std::size_t> bins(1000);
  for (int i = 0; i < 10'000; ++i) {
    DeliveryRecord record;
    const auto next = decide_redelivery(policy, record, {.outcome = Outcome::unavailable},
                                        seconds(1), random.draw());
    ++bins[static_cast<std::size_t>(next.delay / milliseconds(100))];
  }
  return *std::ranges::max_element(bins);
}

TEST(Redelivery, DoesNotStampede) {
  DeliveryPolicy without;
  without.retries = *schedule::ListedDelays::from(without.retries.steps(), Percent(0));
  EXPECT_EQ(tallest(without), 10'000U);
  EXPECT_LE(tallest({}) * 8, tallest(without));
}

TEST(Redelivery, EachInvalidFieldIsNamed) {
  EXPECT_EQ(find_error(DeliveryPolicy{}), std::nullopt);
  const auto error = [](auto change) {
    DeliveryPolicy policy;
    change(policy);
    return find_error(policy).value_or("none");
  };
  EXPECT_TRUE(error([](auto& p) { p.timeout = Duration{0}; }).starts_with("timeout"));
  EXPECT_TRUE(error([](auto& p) { p.max_age = Duration{0}; }).starts_with("max_age"));
  EXPECT_TRUE(error([](auto& p) { p.concurrency = 0; }).starts_with("concurrency"));
  EXPECT_TRUE(error([](auto& p) { p.breaker.probes = 9; }).starts_with("breaker.probes"));
  EXPECT_TRUE(error([](auto& p) { p.rate = {.rate_per_second = 0}; }).starts_with("rate."));
  EXPECT_TRUE(error([](auto& p) { p.backoff = {.base = Duration{0}}; }).starts_with("backoff."));
}

}  // namespace
}  // namespace damper::engine
