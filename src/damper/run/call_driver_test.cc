#include "damper/run/call_driver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "damper/engine/call_player_testing.h"
#include "damper/engine/call_script_testing.h"

namespace damper::run {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr Instant kStart{1000s};

engine::Policy plain_policy() {
  engine::Policy policy = engine::scripted_policy();
  policy.call.backoff = {.jitter = schedule::Jitter::none, .base = 25ms, .cap = 25ms};
  return policy;
}

// Writes down what it is told to do; `inside` runs within send().
class Scripted final : public CallDriver {
 public:
  explicit Scripted(engine::Dependency& dependency,
                    const engine::CallOptions& options = {.request = {.idempotent = true,
                                                                      .safe = true}})
      : CallDriver(dependency, options) {}

  std::function<void(const engine::Attempt&)> inside = [](const engine::Attempt&) {};
  std::string trace;
  std::vector<engine::Attempt> sent;
  std::optional<Instant> wake;

 private:
  void word(const std::string& text) { trace += trace.empty() ? text : " " + text; }
  void send(const engine::Attempt& attempt) override {
    word((attempt.hedge ? "hedge" : "send") + std::to_string(attempt.lane));
    sent.push_back(attempt);
    inside(attempt);
  }
  void give_up(int lane) override { word("cancel" + std::to_string(lane)); }
  void wake_at(Instant when) override {
    word(when == kNever ? "sleep" : "timer");
    wake = when;
  }
  void on_verdict(Verdict verdict) override { word(std::string(name(verdict))); }
};

TEST(CallDriver, DoesWhatTheStepsSay) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.start(kStart);
  EXPECT_EQ(call.trace, "send0 timer");
  EXPECT_FALSE(call.is_waiting());
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart + 5ms);
  EXPECT_EQ(call.trace, "send0 timer timer");
  EXPECT_TRUE(call.is_waiting());
  EXPECT_EQ(call.wake, kStart + 30ms);
  call.on_timer(kStart + 30ms);
  call.on_outcome(0, {}, kStart + 31ms);
  EXPECT_EQ(call.trace, "send0 timer timer send0 timer sleep success");
  EXPECT_TRUE(call.is_over());
  EXPECT_FALSE(call.is_waiting());
}

TEST(CallDriver, AnAttemptThatEndsInsideSendIsHandledAfterIt) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.inside = [&](const engine::Attempt& attempt) {
    call.on_outcome(attempt.lane, {}, kStart);
    EXPECT_FALSE(call.is_over());
  };
  call.start(kStart);
  EXPECT_EQ(call.trace, "send0 success");  // No timer was ever asked for.
}

TEST(CallDriver, AnAttemptIsHeardOfOnce) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.inside = [&](const engine::Attempt& attempt) {
    call.on_outcome(attempt.lane, {.outcome = Outcome::transient}, kStart);
    call.on_outcome(attempt.lane, {}, kStart);  // Nobody asks for this one.
  };
  call.start(kStart);
  call.on_outcome(0, {}, kStart);
  EXPECT_EQ(call.trace, "send0 timer");
  EXPECT_TRUE(call.is_waiting());
}

TEST(CallDriver, AnAttemptThatWasGivenUpIsNotHeardOf) {
  engine::Policy policy = plain_policy();
  policy.call.per_try_timeout = 10ms;
  engine::Dependency dependency("test", policy);
  Scripted call(dependency);
  call.start(kStart);
  const engine::Attempt first = call.sent.at(0);
  EXPECT_TRUE(call.is_wanted(first));
  call.on_timer(kStart + 10ms);
  EXPECT_FALSE(call.is_wanted(first));
  call.on_outcome(0, {}, kStart + 11ms);
  EXPECT_EQ(call.trace, "send0 timer cancel0 timer");
  call.on_timer(kStart + 35ms);  // The retry is in the same lane.
  EXPECT_FALSE(call.is_wanted(first));
  EXPECT_TRUE(call.is_wanted(call.sent.at(1)));
}

TEST(CallDriver, TheLoserOfAHedgeIsGivenUp) {
  engine::Policy policy = plain_policy();
  policy.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
  engine::Dependency dependency("test", policy);
  for (int i = 0; i < 100; ++i) {
    (void)engine::Player(dependency, {}).play(".", kStart);
  }
  Scripted call(dependency);
  call.start(kStart);
  call.on_timer(*call.wake);
  call.on_outcome(1, {}, *call.wake);
  EXPECT_EQ(call.trace, "send0 timer hedge1 timer cancel0 sleep success");
}

TEST(CallDriver, AnOutcomeThatWaitsIsDroppedWithItsLane) {
  engine::Policy policy = plain_policy();
  policy.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
  engine::Dependency dependency("test", policy);
  for (int i = 0; i < 100; ++i) {
    (void)engine::Player(dependency, {}).play(".", kStart);
  }
  Scripted call(dependency);
  call.start(kStart);
  call.inside = [&](const engine::Attempt&) {  // Both end while the hedge is being sent.
    call.on_outcome(1, {}, kStart + 1s);
    call.on_outcome(0, {.outcome = Outcome::permanent}, kStart + 1s);
  };
  call.on_timer(*call.wake);
  EXPECT_EQ(call.trace, "send0 timer hedge1 sleep success");
}

TEST(CallDriver, ACancellationInsideSendWaitsForItsEnd) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.inside = [&](const engine::Attempt&) {
    call.on_cancel(kStart);
    EXPECT_FALSE(call.is_over());
  };
  call.start(kStart);
  EXPECT_EQ(call.trace, "send0 cancel0 cancelled");
}

TEST(CallDriver, ATimerInsideSendWaitsForItsEnd) {
  engine::Policy policy = plain_policy();
  policy.call.per_try_timeout = 10ms;
  engine::Dependency dependency("test", policy);
  Scripted call(dependency);
  call.inside = [&](const engine::Attempt& attempt) { call.on_timer(attempt.deadline); };
  call.start(kStart);
  EXPECT_EQ(call.trace, "send0 cancel0 timer");
}

TEST(CallDriver, ACallThatWasCancelledBeforeItsStartSendsNothing) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.on_cancel(kStart);
  call.start(kStart);
  call.on_timer(kStart);
  call.on_cancel(kStart);
  EXPECT_EQ(call.trace, "cancelled");
}

TEST(CallDriver, AFlippedSwitchEndsAParkedCallAtOnce) {
  engine::Dependency dependency("test", plain_policy());
  Scripted call(dependency);
  call.start(kStart);
  call.on_outcome(0, {.outcome = Outcome::transient}, kStart);
  dependency.switches().set(admit::Switch::retries, {.off = true});
  call.on_timer(kStart + 1ms);
  EXPECT_EQ(call.trace, "send0 timer timer sleep switched_off");
}

// Invariant (2): the verdict is the last thing that happens.
TEST(CallDriver, MayBeDestroyedByItsVerdict) {
  struct OnHeap final : CallDriver {
    OnHeap(engine::Dependency& dependency, bool& went)
        : CallDriver(dependency, {.request = {.idempotent = true}}), gone(went) {}
    ~OnHeap() { gone = true; }
    void send(const engine::Attempt& attempt) override { on_outcome(attempt.lane, {}, kStart); }
    void give_up(int) override {}
    void wake_at(Instant) override {}
    void on_verdict(Verdict) override { delete this; }
    bool& gone;
  };
  engine::Dependency dependency("test", plain_policy());
  bool gone = false;
  (new OnHeap(dependency, gone))->start(kStart);
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace damper::run
