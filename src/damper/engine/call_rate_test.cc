#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "damper/engine/call_player_testing.h"

namespace damper::engine {
namespace {

// The rate limit of the attempts. 10 attempts a second: a token every 100 ms.

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart = Player::kStart;

Policy rated(Duration max_wait, std::int32_t burst = 1, double rate = 10) {
  Policy p = scripted_policy();
  p.attempt_rate = {.bucket = {.rate_per_second = rate, .burst = burst}, .max_wait = max_wait};
  return p;
}

// What a call plays that waits so long for its token, and succeeds.
std::string play_wait(Duration wait) {
  return "wait" +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count()) +
         " send success";
}

TEST(CallRate, AnAttemptWithoutATokenIsRefused) {
  Dependency dependency("test", rated(0ms));
  EXPECT_EQ(Player(dependency).play("."), "send success");
  EXPECT_EQ(Player(dependency).play("."), "rate_limited");
  EXPECT_EQ(Player(dependency).play(".", kStart + 100ms - 1ns), "rate_limited");
  EXPECT_EQ(Player(dependency).play(".", kStart + 100ms), "send success");
  const Tally tally = dependency.tally();
  EXPECT_EQ(tally.of(Verdict::rate_limited), 2U);
  EXPECT_EQ(tally.attempts, 2U);
  EXPECT_EQ(tally.in_flight(), 0U);
}

TEST(CallRate, ARefusalOfTheLimitTakesNoToken) {
  for (const std::int32_t tokens : {2, 1}) {
    Policy p = rated(0ms, 2);
    p.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
    Dependency dependency("test", p);
    if (tokens == 1) (void)Player(dependency).play(".");
    ASSERT_TRUE(dependency.limit().try_acquire());
    EXPECT_EQ(Player(dependency).play("."), "limited");
    EXPECT_EQ(dependency.attempt_rate()->balance(kStart), tokens);
    EXPECT_EQ(dependency.limit().in_flight(), 1);
  }
}

TEST(CallRate, FirstAttemptsWaitInOrderUpToMaxWait) {
  Dependency dependency("test", rated(300ms));
  EXPECT_EQ(Player(dependency).play("."), "send success");
  EXPECT_EQ(Player(dependency).play("."), "wait100 send success");
  EXPECT_EQ(Player(dependency).play(".50"), "wait200 send success");
  EXPECT_EQ(Player(dependency).play("."), "wait300 send success");
  EXPECT_EQ(Player(dependency).play("."), "rate_limited");
  EXPECT_EQ(Player(dependency).play(".", kStart + 100ms), "wait300 send success");
  ASSERT_NE(dependency.attempt_rate(), nullptr);
  Histogram::Totals totals;
  dependency.attempt_rate()->waits().read_totals(totals);
  std::uint64_t waits = 0;
  for (const auto count : totals.counts) waits += static_cast<std::uint64_t>(count);
  EXPECT_EQ(waits, 4U);
}

TEST(CallRate, AWaitingFirstAttemptIsSentAtItsInstantAndNotBefore) {
  Dependency dependency("test", rated(1s));
  (void)Player(dependency).play(".");
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, kStart + 100ms);
  call.on_timer(kStart + 50ms, 0.5);  // An early one is harmless.
  EXPECT_EQ(call.step().wake, kStart + 100ms);
  dependency.flip(admit::Switch::retries, {.off = true}, kStart + 60ms);
  call.on_timer(kStart + 60ms, 0.5);  // It is no retry.
  EXPECT_FALSE(call.step().over());
  call.on_timer(kStart + 100ms - 1ns, 0.5);
  EXPECT_FALSE(call.step().sends);
  call.on_timer(kStart + 100ms, 0.5);
  EXPECT_TRUE(call.step().sends);
  EXPECT_EQ(call.step().attempt.number, 1U);
  EXPECT_EQ(call.step().attempt.sent, kStart + 100ms);
  call.on_success(0, kStart + 101ms);
  EXPECT_EQ(call.step().verdict, Verdict::success);
}

TEST(CallRate, ARetryTakesATokenToo) {
  Dependency dependency("test", rated(1s));
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 10ms, 0.5);
  const Instant retry = call.step().wake;
  ASSERT_LT(retry, kStart + 100ms);
  call.on_timer(retry, 0.5);
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, kStart + 100ms);
  call.on_timer(kStart + 100ms, 0.5);
  EXPECT_TRUE(call.step().sends);
  EXPECT_EQ(call.step().attempt.number, 2U);
  call.on_success(0, kStart + 101ms);
  EXPECT_EQ(Player(dependency).play(".", kStart + 200ms - 1ns), "wait0 send success");
}

TEST(CallRate, AReservedTokenIsForOneAttempt) {
  Dependency dependency("test", rated(1s));
  (void)Player(dependency).play(".");
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(kStart + 100ms, 0.5);
  ASSERT_TRUE(call.step().sends);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 100ms, 0.5);
  call.on_timer(call.step().wake, 0.5);
  EXPECT_FALSE(call.step().sends);
  EXPECT_EQ(call.step().wake, kStart + 200ms);
  call.on_cancel(kStart + 150ms);
}

TEST(CallRate, ARefusedAttemptHasNoEffectOnTheOtherParts) {  // Invariants (3) and (5)
  Policy p = rated(0ms);
  p.limit = {.kind = admit::LimitKind::fixed, .initial = 5};
  p.throttle = {.minimum_volume = 1};
  p.breaker = {.consecutive_failures = 1, .open_base = 1s, .probes = 1, .ramp = 0s};
  Dependency dependency("test", p);
  (void)Player(dependency, {}, 0.0).play("t", kStart - 2s);
  Call probe(dependency, kRead);  // The breaker is half-open; the probe has the token.
  probe.start(kStart, 0.0);
  ASSERT_TRUE(probe.step().sends);
  probe.on_success(0, kStart);
  ASSERT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
  const double budget = dependency.budget().balance(kStart);
  const double throttle = dependency.throttle().reject_probability(kStart);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Player(dependency).play("."), "rate_limited");
  EXPECT_EQ(dependency.limit().in_flight(), 0);
  EXPECT_EQ(dependency.throttle().reject_probability(kStart), throttle);
  EXPECT_EQ(dependency.budget().balance(kStart), budget);
  EXPECT_EQ(dependency.breaker().state(kStart), admit::BreakerState::closed);
}

TEST(CallRate, AProbeWithoutATokenGivesItsLeaseBack) {
  Policy p = rated(0ms, 1, 0.1);
  p.breaker = {.consecutive_failures = 1, .open_base = 1s, .probes = 1};
  Dependency dependency("test", p);
  (void)Player(dependency, {}, 0.0).play("t", kStart - 2s);  // Its token is back in 10 s.
  EXPECT_EQ(Player(dependency).play("."), "rate_limited");
  EXPECT_TRUE(dependency.breaker().try_admit(kStart, 0).admitted);  // The one probe.
}

TEST(CallRate, ARetryWithoutATokenIsRefunded) {  // Invariant (3)
  Dependency dependency("test", rated(0ms));
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  const double before = dependency.budget().balance(kStart);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  EXPECT_EQ(call.step().verdict, Verdict::rate_limited);
  EXPECT_EQ(dependency.budget().balance(kStart), before);
}

TEST(CallRate, NoAttemptWaitsPastItsDeadline) {
  Policy p = rated(1h, 1, 1);
  p.call.timeout = 1s;
  p.call.needed = 1ms;
  Dependency dependency("test", p);
  EXPECT_EQ(Player(dependency).play("."), "send success");
  EXPECT_EQ(Player(dependency).play("."), "rate_limited");  // 1 s is over 999 ms.
  // Nothing was reserved by it: the next token is free.
  EXPECT_EQ(Player(dependency).play(".", kStart + 1ms), "wait999 send success");
}

TEST(CallRate, AHedgeWithoutATokenIsNotSent) {
  Policy p = rated(1s, 101, 0.001);
  p.call.hedge = hedging().call.hedge;
  Dependency dependency("test", p);
  warm(dependency);
  EXPECT_EQ(Player(dependency).play(".500"), "send success");
  EXPECT_EQ(dependency.tally().hedges, 0U);
  EXPECT_EQ(dependency.tally().hedges_suppressed, 1U);
}

TEST(CallRate, ABreakerThatOpensMeanwhileRefusesTheWaitingAttempt) {
  Policy p = rated(1s);
  p.breaker = {.consecutive_failures = 1, .open_base = 10s, .open_cap = 10s};
  Dependency dependency("test", p);
  Call first(dependency, {});
  first.start(kStart, 0.5);
  Call second(dependency, {});
  second.start(kStart, 0.5);
  first.on_outcome(0, {.outcome = Outcome::timeout}, kStart + 1ms, 0.5);
  second.on_timer(kStart + 100ms, 0.5);
  EXPECT_EQ(second.step().verdict, Verdict::breaker_open);
}

TEST(CallRate, AWaitingFirstAttemptCanBeCancelled) {
  Dependency dependency("test", rated(1s));
  (void)Player(dependency).play(".");
  Call call(dependency, {});
  call.start(kStart, 0.5);
  EXPECT_EQ(dependency.tally().in_flight(), 1U);
  call.on_cancel(kStart + 1ms);
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
  const Tally tally = dependency.tally();
  EXPECT_EQ(tally.started, 2U);
  EXPECT_EQ(tally.in_flight(), 0U);
  EXPECT_EQ(tally.attempts, 1U);
}

TEST(CallRate, AnAttemptIsCountedWhenItIsSentAndNotWhileItWaits) {
  Dependency dependency("test", rated(1s));
  (void)Player(dependency).play(".");
  Call cancelled(dependency, {}), refused(dependency, {}), sent(dependency, {});
  for (Call* const call : {&cancelled, &refused, &sent}) call->start(kStart, 0.5);
  EXPECT_EQ(dependency.tally().attempts, 1U);
  cancelled.on_cancel(kStart + 1ms);
  refused.on_timer(kStart + 1h, 0.5);
  ASSERT_EQ(refused.step().verdict, Verdict::deadline_too_close);
  EXPECT_EQ(dependency.tally().attempts, 1U);
  sent.on_timer(kStart + 300ms, 0.5);
  EXPECT_EQ(dependency.tally().attempts, 2U);
  sent.on_success(0, kStart + 300ms);
  EXPECT_EQ(dependency.tally().attempts, 2U);
  EXPECT_EQ(Player(dependency).play(".", kStart + 1s), "send success");
  EXPECT_EQ(dependency.tally().attempts, 3U);
}

TEST(CallRate, AReloadAddsChangesAndRemovesIt) {
  Dependency dependency("test", scripted_policy());
  EXPECT_EQ(dependency.attempt_rate(), nullptr);
  EXPECT_EQ(Player(dependency).play("."), "send success");
  dependency.reload(rated(0ms), kStart);
  EXPECT_EQ(Player(dependency).play("."), "send success");
  EXPECT_EQ(Player(dependency).play("."), "rate_limited");
  dependency.reload(rated(200ms), kStart);  // The fill stays.
  EXPECT_EQ(Player(dependency).play("."), "wait100 send success");
  dependency.reload(scripted_policy(), kStart);
  EXPECT_EQ(Player(dependency).play("."), "send success");
}

TEST(CallRate, InvalidOptionsNameTheirField) {
  EXPECT_EQ(find_error(rated(2h)), "attempt_rate.max_wait is 2h; it must be from 0s to 1h");
  EXPECT_EQ(find_error(rated(0ms, 0)), "attempt_rate.burst is 0; it must be from 1 to 1000000");
  EXPECT_EQ(find_error(rated(0ms), Footprint::small),
            "attempt_rate is set; a small dependency has none");
}

// A retry that waits for its token beside a hedge is refused by the switch, and gives it back.
TEST(CallRate, ARefusedRetryGivesItsTokenBack) {
  Policy policy = rated(10s, 102, 0.5);
  policy.call.timeout = 60s;
  policy.call.max_attempts = 4;
  policy.call.hedge = hedging().call.hedge;
  Dependency dependency("test", policy);
  for (int i = 0; i < 100; ++i) (void)Player(dependency, {}).play(".10", kStart - 20ms);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().attempt.hedge);  // The second and last token.
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 10ms, 0.5);
  call.on_timer(call.step().wake, 0.5);  // The retry is due, and waits for a token.
  ASSERT_FALSE(call.step().sends);
  const Instant token = call.step().wake;
  ASSERT_GT(token, kStart + 500ms);
  dependency.flip(admit::Switch::retries, {.off = true}, kStart + 200ms);
  call.on_timer(kStart + 200ms, 0.5);
  dependency.flip(admit::Switch::retries, {}, kStart + 210ms);
  call.on_outcome(1, {.outcome = Outcome::transient}, kStart + 220ms, 0.5);
  ASSERT_FALSE(call.step().over());
  call.on_timer(call.step().wake, 0.5);
  EXPECT_FALSE(call.step().sends);  // It has none any more, and reserves the same one again.
  EXPECT_EQ(call.step().wake, token);
  call.on_cancel(kStart + 1s);
  EXPECT_EQ(Player(dependency).play(".", kStart + 1s), play_wait(token - (kStart + 1s)));
}

TEST(CallRate, ACallerThatHangsUpGivesItsTokenBack) {  // Invariant (5)
  Dependency dependency("test", rated(1s));
  (void)Player(dependency).play(".");
  Call first(dependency, kRead);
  first.start(kStart, 0.5);
  Call second(dependency, kRead);
  second.start(kStart, 0.5);
  ASSERT_EQ(first.step().wake, kStart + 100ms);
  ASSERT_EQ(second.step().wake, kStart + 200ms);
  first.on_cancel(kStart + 50ms);
  EXPECT_EQ(Player(dependency).play(".", kStart + 60ms), "wait40 send success");
  EXPECT_EQ(Player(dependency).play(".", kStart + 60ms), "wait240 send success");
  second.on_timer(kStart + 200ms, 0.5);
  ASSERT_TRUE(second.step().sends);
  second.on_success(0, kStart + 200ms);  // A token that was used is not given back.
  EXPECT_EQ(Player(dependency).play(".", kStart + 200ms), "wait200 send success");
}

TEST(CallRate, AWaitingAttemptThatTheBreakerRefusesGivesItsTokenBack) {  // Invariant (5)
  Policy p = rated(1s, 2);
  p.breaker = {.consecutive_failures = 1, .open_base = 10s, .open_cap = 10s};
  Dependency dependency("test", p);
  Call failing(dependency, {});
  failing.start(kStart, 0.5);
  (void)Player(dependency, {}).play(".");
  Call waiting(dependency, {});
  waiting.start(kStart, 0.5);
  ASSERT_EQ(waiting.step().wake, kStart + 100ms);
  failing.on_outcome(0, {.outcome = Outcome::timeout}, kStart + 1ms, 0.5);
  waiting.on_timer(kStart + 100ms, 0.5);
  ASSERT_EQ(waiting.step().verdict, Verdict::breaker_open);
  (void)dependency.breaker().close(kStart + 100ms);
  EXPECT_EQ(Player(dependency).play(".", kStart + 100ms), "send success");
}

// A hedge beside a retry that has a token is told when to come back: the retry moves, the token
// does not.
TEST(CallRate, ARetryThatIsMovedGivesItsTokenBack) {  // Invariant (5)
  Policy policy = rated(10s, 102, 0.5);
  policy.call.timeout = 60s;
  policy.call.max_attempts = 4;
  policy.call.hedge = hedging().call.hedge;
  Dependency dependency("test", policy);
  for (int i = 0; i < 100; ++i) (void)Player(dependency, {}).play(".10", kStart - 20ms);
  Call call(dependency, kRead);
  call.start(kStart, 0.5);
  call.on_timer(call.step().wake, 0.5);
  ASSERT_TRUE(call.step().attempt.hedge);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 10ms, 0.5);
  call.on_timer(call.step().wake, 0.5);
  const Instant token = call.step().wake;
  ASSERT_GT(token, kStart + 500ms);
  call.on_outcome(1, {.outcome = Outcome::transient, .retry_after = 9s}, kStart + 300ms, 0.5);
  ASSERT_GT(call.step().wake, kStart + 9s);
  EXPECT_EQ(Player(dependency).play(".", kStart + 1s), play_wait(token - (kStart + 1s)));
  call.on_cancel(kStart + 1s);
}

}  // namespace
}  // namespace damper::engine
