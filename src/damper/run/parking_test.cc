#include "damper/run/parking.h"

#include <gtest/gtest.h>

#include <thread>

#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::run {
namespace {

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

TEST(Parking, WakesWhenTheRetryIsDueAndNotBefore) {
  Dependency dependency("test", waits(10ms));
  const Instant before = now();
  engine::Call call = failed_call(dependency);
  do {
    park(call, {});
  } while (!call.step().sends);  // Another test's flip.
  EXPECT_GE(now(), before + 10ms);
  call.on_cancel(now());
}

TEST(Parking, ASwitchThatIsOffAlreadyIsSeenWithoutWaiting) {
  Dependency dependency("test", waits(1h));
  engine::Call call = failed_call(dependency);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  park(call, {});
  EXPECT_EQ(call.step().verdict, Verdict::switched_off);
}

TEST(Parking, AStopThatWasRequestedAlreadyIsSeenWithoutWaiting) {
  Dependency dependency("test", waits(1h));
  engine::Call call = failed_call(dependency);
  std::stop_source stop;
  stop.request_stop();
  park(call, stop.get_token());
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
}

TEST(Parking, ARetryThatIsDueIsNotSentAfterAStop) {
  Dependency dependency("test", waits(1ns));
  engine::Call call = failed_call(dependency);
  std::stop_source stop;
  stop.request_stop();
  park(call, stop.get_token());
  EXPECT_EQ(call.step().verdict, Verdict::cancelled);
}

TEST(Parking, NoFlipIsMissedHoweverItFallsBetweenLookingAndWaiting) {
  for (int i = 0; i < 300; ++i) {
    Dependency dependency("test", waits(1h));
    engine::Call call = failed_call(dependency);
    const std::jthread flips(
        [&] { dependency.switches().set(admit::Switch::retries, {.off = true}); });
    while (!call.step().over()) park(call, {});
    ASSERT_EQ(call.step().verdict, Verdict::switched_off);
  }
}

}  // namespace
}  // namespace damper::run
