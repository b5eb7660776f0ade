#include <gtest/gtest.h>

#include "damper/engine/crowd_testing.h"

namespace damper::engine {
namespace {

// The adaptive timeout under calls.

using namespace std::chrono_literals;
using decide::Outcome;

Policy adaptive() {
  Policy policy;
  policy.call.adaptive_timeout.on = true;
  return policy;
}

Crowd::Service answers_after(Duration latency) {
  return [latency](std::uint64_t, const Attempt&) {
    return Crowd::Answer{Outcome::success, latency};
  };
}

TEST(CallTimeout, AnAttemptsTimeoutFollowsTheLatencies) {
  Dependency dependency("d", adaptive());
  Crowd crowd(dependency);
  Duration timeout{0};
  const auto answers = [&](std::uint64_t, const Attempt& attempt) {
    timeout = between(attempt.sent, attempt.deadline);
    return Crowd::Answer{Outcome::success, 10ms};
  };
  crowd.run(100, 5s, answers);
  EXPECT_EQ(timeout, 5s);  // 500 are too few.
  crowd.run(100, 10s, answers);
  EXPECT_GE(timeout, 15ms);  // 10 ms and half as much; the histogram rounds up.
  EXPECT_LE(timeout, 16ms);
}

TEST(CallTimeout, TrapD4_ThePerTryTimeoutIsTheCeilingInAHangToo) {
  Policy policy = adaptive();
  policy.call.per_try_timeout = 100ms;
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  crowd.run(100, 20s, answers_after(10ms));
  Duration longest{0};
  crowd.run(100, 60s, [&](std::uint64_t, const Attempt& attempt) {
    longest = std::max(longest, between(attempt.sent, attempt.deadline));
    return Crowd::kHangs;
  });
  EXPECT_EQ(longest, 100ms);
}

// One in 1000 legitimately needs 150 times the median.
TEST(CallTimeout, TrapD4_TheSlowFewSucceedAsTheyDoWithoutIt) {
  for (const Duration needs : {Duration(300ms), Duration(3s)}) {
    Dependency dependency("d", adaptive());
    Crowd crowd(dependency);
    crowd.run(1000, 5s, answers_after(2ms));
    crowd.finish(answers_after(2ms));
    crowd.forget();
    std::int64_t slow = 0;
    const auto service = [&](std::uint64_t call, const Attempt& attempt) {
      const bool is_slow = call % 1000 == 0;
      slow += is_slow && attempt.number == 1 ? 1 : 0;
      return Crowd::Answer{Outcome::success, is_slow ? needs : 2ms};
    };
    crowd.run(1000, 20s, service);
    crowd.finish(service);
    EXPECT_EQ(slow, 20);
    EXPECT_EQ(crowd.count(Verdict::success), crowd.calls());
  }
}

// The timeouts of the attempts of one call in a hang, after answers in 2 ms.
std::vector<Duration> timeouts_in_a_hang(const Policy& policy) {
  Dependency dependency("d", policy);
  Crowd crowd(dependency);
  crowd.run(1000, 5s, answers_after(2ms));
  std::vector<Duration> timeouts;
  const auto hangs = [&](std::uint64_t, const Attempt& attempt) {
    timeouts.push_back(between(attempt.sent, attempt.deadline));
    return Crowd::kHangs;
  };
  crowd.run(1, 1s, hangs);
  crowd.finish(hangs);
  return timeouts;
}

TEST(CallTimeout, EachRetryHasMoreTimeThanTheAttemptBeforeIt) {
  Policy policy = adaptive();
  policy.call.max_attempts = 4;
  policy.call.timeout = 20s;
  policy.budget.percent = Percent(1000);
  policy.budget.reserve = 100;
  // The last has all that is configured: `upper`.
  EXPECT_EQ(timeouts_in_a_hang(policy), (std::vector<Duration>{10ms, 80ms, 640ms, 10s}));
}

TEST(CallTimeout, TheLastAttemptHasAllThatIsConfigured) {
  Policy policy = adaptive();
  policy.call.max_attempts = 2;
  policy.call.timeout = 100s;
  policy.call.per_try_timeout = 3s;
  policy.budget.reserve = 100;
  // Eight times as long would be 80 ms.
  EXPECT_EQ(timeouts_in_a_hang(policy), (std::vector<Duration>{10ms, 3s}));
}

TEST(CallTimeout, ATimeoutAdaptsIfItTakesAnEighthOfTheTimeLeftAtMost) {
  for (const Duration timeout : {Duration(80ms), Duration(79ms)}) {
    Policy policy = adaptive();
    Dependency dependency("d", policy);
    Crowd crowd(dependency);
    crowd.run(1000, 5s, answers_after(2ms));
    policy.call.timeout = timeout;
    dependency.reload(policy, crowd.now());
    Duration first{0};
    crowd.run(1, 1s, [&](std::uint64_t, const Attempt& attempt) {
      first = between(attempt.sent, attempt.deadline);
      return Crowd::Answer{Outcome::success, 1ms};
    });
    EXPECT_EQ(first, timeout == 80ms ? Duration(10ms) : timeout);
  }
}

}  // namespace
}  // namespace damper::engine
