#include "damper/run/dependency.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "damper/run/clock.h"

namespace damper::run {
namespace {

struct Counting final : WaitingCall {
  void on_flip() noexcept override { ++flips; }
  std::atomic<int> flips{0};
};

TEST(WaitingCalls, AFlipWakesThoseThatAreInTheList) {
  WaitingCalls calls;
  Counting first;
  Counting second;
  Counting third;
  calls.add(first);
  calls.add(second);
  calls.add(third);
  calls.on_flip();
  calls.remove(second);
  calls.on_flip();
  calls.remove(third);
  calls.on_flip();
  calls.remove(first);
  calls.on_flip();
  EXPECT_EQ(first.flips, 3);
  EXPECT_EQ(second.flips, 1);
  EXPECT_EQ(third.flips, 2);
}

TEST(WaitingCalls, WhoIsNotThereIsRemovedWithoutHarm) {
  WaitingCalls calls;
  Counting call;
  calls.remove(call);
  calls.add(call);
  EXPECT_TRUE(call.is_in_line());
  calls.remove(call);
  calls.remove(call);
  EXPECT_FALSE(call.is_in_line());
  calls.add(call);
  calls.remove(call);
}

TEST(WaitingCalls, TheProcessHearsOfTheSwitchesOfEveryDependency) {
  Dependency dependency("test");
  Counting call;
  WaitingCalls::of_process().add(call);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  EXPECT_EQ(call.flips, 1);
  switches().set(admit::Switch::hedging, {.off = true});
  switches().clear(admit::Switch::hedging);
  EXPECT_EQ(call.flips, 3);
  WaitingCalls::of_process().remove(call);
  dependency.switches().clear(admit::Switch::retries);
  EXPECT_EQ(call.flips, 3);
}

TEST(WaitingCalls, AFlipBesideThoseWhoComeAndGo) {
  WaitingCalls calls;
  std::thread flips([&] {
    for (int i = 0; i < 2'000; ++i) calls.on_flip();
  });
  for (int i = 0; i < 2'000; ++i) {
    Counting call;  // Gone when it is removed.
    calls.add(call);
    calls.remove(call);
  }
  flips.join();
}

using namespace std::chrono_literals;

engine::Policy waits(Duration backoff) {
  engine::Policy policy;
  policy.call.timeout = 3h;
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = backoff, .cap = backoff};
  return policy;
}

// A call whose first attempt has failed just now.
engine::Call failed_call(Dependency& dependency) {
  engine::Call call(dependency, {.request = {.idempotent = true}});
  call.start(now(), draw());
  call.on_outcome(0, {.outcome = decide::Outcome::transient}, now(), draw());
  return call;
}

TEST(WaitingThreads, WakesWhenTheRetryIsDueAndNotBefore) {
  Dependency dependency("test", waits(10ms));
  const Instant before = now();
  engine::Call call = failed_call(dependency);
  do {
    wait_for_retry(call, {});
  } while (!call.step().sends);  // Another test's flip.
  EXPECT_GE(now(), before + 10ms);
  call.on_cancel(now());
}

TEST(WaitingThreads, ASwitchThatIsOffAlreadyIsSeenWithoutWaiting) {
  Dependency dependency("test", waits(1h));
  engine::Call call = failed_call(dependency);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  wait_for_retry(call, {});
  EXPECT_EQ(call.step().verdict, Verdict::switched_off);
}

TEST(WaitingThreads, AStopThatWasRequestedAlreadyIsSeenWithoutWaiting) {
  Dependency dependency("test", waits(1h));
  engine::Call call = failed_call(dependency);
  std::stop_source stop;
  stop.request_stop();
  wait_for_retry(call, stop.get_token());
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
}

TEST(WaitingThreads, ARetryThatIsDueIsNotSentAfterAStop) {
  Dependency dependency("test", waits(1ns));
  engine::Call call = failed_call(dependency);
  std::stop_source stop;
  stop.request_stop();
  wait_for_retry(call, stop.get_token());
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
}

TEST(WaitingThreads, NoFlipIsMissedHoweverItFallsBetweenLookingAndWaiting) {
  for (int i = 0; i < 300; ++i) {
    Dependency dependency("test", waits(1h));
    engine::Call call = failed_call(dependency);
    const std::jthread flips(
        [&] { dependency.switches().set(admit::Switch::retries, {.off = true}); });
    while (!call.step().over()) wait_for_retry(call, {});
    ASSERT_EQ(call.step().verdict, Verdict::switched_off);
  }
}

}  // namespace
}  // namespace damper::run
