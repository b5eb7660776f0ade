#include "damper/lab/world/simulated_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr std::uint32_t kWakes = 7;

struct NoData {};
using Calls = SimulatedCalls<NoData>;

// Records attempts; the test answers them.
class TestTransport final : public Calls::Transport {
 public:
  explicit TestTransport(const engine::Policy& policy)
      : dependency("db", policy), streams(1), calls(queue, streams, *this, kWakes) {}

  Handle begin(const engine::CallOptions& options = {
                   .request = {.idempotent = true, .safe = true}}) {
    const Handle operation = calls.prepare(dependency, options, 42, {});
    calls.start(operation);
    return operation;
  }
  // What is due by then happens.
  void run(Duration until) {
    while (const auto due = queue.pop(Instant{until})) {
      if (due->event.kind == kWakes) calls.on_wake(due->event);
    }
  }

  Handle on_send(Handle, Calls::Operation& caller, const engine::Attempt& attempt) override {
    said += (attempt.hedge ? "hedge" : "send") + std::to_string(attempt.number) + ' ';
    sent.push_back({attempt.number, static_cast<std::uint32_t>(caller.number)});
    times.push_back(queue.now());
    return sent.back();
  }
  void on_give_up(Handle handle) override { said += "drop" + std::to_string(handle.index) + ' '; }
  void on_over(const Calls::Operation& caller, Verdict verdict) override {
    said += std::string(name(verdict)) + ' ';
    draws = caller.draws;
    if (next_too) {
      next_too = false;
      (void)begin();
    }
  }

  timer::EventQueue queue;
  engine::Dependency dependency;
  RandomStreams streams;
  Calls calls;
  std::vector<Handle> sent;
  std::vector<Instant> times;
  std::string said;
  std::uint32_t draws = 0;
  bool next_too = false;
};

TEST(SimulatedCalls, ACallSendsAndEndsWithTheAnswer) {
  TestTransport transport(eager(3));
  const Handle operation = transport.begin();
  EXPECT_EQ(transport.calls.size(), 1u);
  EXPECT_TRUE(transport.calls.is_wanted(operation, transport.sent[0]));
  EXPECT_TRUE(transport.calls.on_answer(operation, transport.sent[0], {}));
  EXPECT_EQ(transport.said, "send1 success ");
  EXPECT_EQ(transport.calls.size(), 0u);
  EXPECT_EQ(transport.queue.size(), 0u);  // Its timer is gone with it.
}

TEST(SimulatedCalls, AFailureIsFollowedByARetryWhenItsTimeHasCome) {
  engine::Policy policy = eager(3);
  policy.call.backoff.base = policy.call.backoff.cap = 10ms;
  TestTransport transport(policy);
  const Handle operation = transport.begin();
  EXPECT_TRUE(
      transport.calls.on_answer(operation, transport.sent[0], {.outcome = Outcome::transient}));
  EXPECT_EQ(transport.queue.size(), 1u);
  transport.run(1s);
  ASSERT_EQ(transport.times.size(), 2u);
  EXPECT_EQ(transport.times[1], Instant{10ms});
  EXPECT_TRUE(
      transport.calls.on_answer(operation, transport.sent[1], {.outcome = Outcome::permanent}));
  EXPECT_EQ(transport.said, "send1 send2 permanent ");
}

TEST(SimulatedCalls, AnAttemptThatTimesOutIsGivenUpBeforeTheNextIsSent) {
  TestTransport transport(eager(2, 50ms));
  const Handle operation = transport.begin();
  transport.run(60ms);
  EXPECT_EQ(transport.said, "send1 drop1 send2 ");
  EXPECT_FALSE(transport.calls.is_wanted(operation, transport.sent[0]));
  EXPECT_TRUE(transport.calls.is_wanted(operation, transport.sent[1]));
  transport.run(1s);
  EXPECT_EQ(transport.said, "send1 drop1 send2 drop2 attempts_spent ");
}

TEST(SimulatedCalls, AnAnswerThatNobodyWaitsForIsNotHeard) {  // Invariant 1.
  TestTransport transport(eager(2, 50ms));
  const Handle operation = transport.begin();
  transport.run(60ms);
  EXPECT_FALSE(transport.calls.on_answer(operation, transport.sent[0], {}));
  EXPECT_TRUE(transport.calls.on_answer(operation, transport.sent[1], {}));
  EXPECT_FALSE(transport.calls.on_answer(operation, transport.sent[1], {}));  // Nor twice.
  EXPECT_FALSE(transport.calls.is_wanted(operation, transport.sent[1]));
  EXPECT_EQ(transport.said, "send1 drop1 send2 success ");
}

TEST(SimulatedCalls, NorIsItWhileTheCallWaitsForItsNextAttempt) {
  engine::Policy policy = eager(3, 50ms);
  policy.call.backoff.base = policy.call.backoff.cap = 10ms;
  TestTransport transport(policy);
  const Handle operation = transport.begin();
  EXPECT_TRUE(
      transport.calls.on_answer(operation, transport.sent[0], {.outcome = Outcome::transient}));
  EXPECT_FALSE(transport.calls.on_answer(operation, transport.sent[0], {}));  // A second answer.
  transport.run(60ms);  // The second attempt, sent at 10 ms, times out.
  EXPECT_EQ(transport.said, "send1 send2 drop2 ");
  EXPECT_FALSE(transport.calls.on_answer(operation, transport.sent[1], {}));
  transport.run(70ms);
  EXPECT_EQ(transport.said, "send1 send2 drop2 send3 ");
}

// Full jitter may be none at all: the call wants to be woken at the very time at which it is.
TEST(SimulatedCalls, ARetryMayBeDueAtOnce) {
  engine::Policy policy = eager(2, 50ms);
  policy.call.backoff.jitter = schedule::Jitter::full;
  TestTransport transport(policy);
  (void)transport.begin();
  transport.run(50ms);
  EXPECT_EQ(transport.said, "send1 drop1 send2 ");
}

TEST(SimulatedCalls, AnAnswerToNothingIsNotHeard) {
  TestTransport transport(eager(2));
  const Handle operation = transport.begin();
  EXPECT_FALSE(transport.calls.is_wanted(operation, Handle{}));  // Three lanes are free.
  EXPECT_FALSE(transport.calls.on_answer(operation, Handle{}, {}));
  EXPECT_FALSE(transport.calls.on_answer(Handle{}, transport.sent[0], {}));
  EXPECT_EQ(transport.said, "send1 ");
}

TEST(SimulatedCalls, TheLoserOfARaceIsGivenUp) {
  engine::Policy policy = eager(3);
  policy.call.hedge = {.max_hedges = 1, .min_samples = 1, .ratio = Percent(100)};
  TestTransport transport(policy);
  Handle operation = transport.begin();
  (void)transport.calls.on_answer(operation, transport.sent[0], {});  // A first latency is known,
  transport.queue.schedule(Instant{5s}, {});                          // and looked up by now.
  transport.run(5s);
  transport.said.clear();
  operation = transport.begin();
  transport.run(10s);
  ASSERT_EQ(transport.said, "send1 hedge2 ");
  EXPECT_TRUE(transport.calls.on_answer(operation, transport.sent[2], {}));
  EXPECT_EQ(transport.said, "send1 hedge2 drop1 success ");
}

TEST(SimulatedCalls, WhoeverIsCancelledGivesItsAttemptUp) {
  TestTransport transport(eager(3));
  transport.calls.cancel(transport.begin());
  EXPECT_EQ(transport.said, "send1 drop1 cancelled ");
  EXPECT_EQ(transport.calls.size(), 0u);
  EXPECT_EQ(transport.queue.size(), 0u);
  EXPECT_DEATH(transport.calls.cancel(Handle{}), "check failed");
}

TEST(SimulatedCalls, OneThatIsOverMayStartAnother) {
  TestTransport transport(eager(1));
  transport.next_too = true;
  const Handle operation = transport.begin();
  EXPECT_TRUE(transport.calls.on_answer(operation, transport.sent[0], {}));
  EXPECT_EQ(transport.said, "send1 success send1 ");
  EXPECT_EQ(transport.calls.find(operation), nullptr);
  EXPECT_EQ(transport.calls.size(), 1u);
}

TEST(SimulatedCalls, ADeadlineThatHasPassedEndsItBeforeAnythingIsSent) {
  TestTransport transport(eager(1));
  const Handle operation =
      transport.begin({.request = {.idempotent = true}, .deadline = schedule::Deadline(Instant{})});
  EXPECT_EQ(transport.said, "deadline_passed ");
  EXPECT_EQ(transport.calls.find(operation), nullptr);
}

TEST(SimulatedCalls, OneTimerIsPendingForEachAtMost) {
  TestTransport transport(eager(3, 1s));
  const Handle operation = transport.begin();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(transport.queue.size(), 1u);
    (void)transport.calls.on_answer(operation, transport.sent[i], {.outcome = Outcome::transient});
    EXPECT_EQ(transport.queue.size(), 1u);
    transport.run(1ms);
  }
  EXPECT_EQ(transport.said, "send1 send2 send3 ");
}

// Invariant 2: a retry's jitter is draw number 1 of the operation's own stream.
TEST(SimulatedCalls, DrawsBelongToTheOperation) {
  engine::Policy policy = eager(3);
  policy.call.backoff = {.jitter = schedule::Jitter::full, .base = 1s, .cap = 1s};
  TestTransport transport(policy);
  const Handle operation = transport.begin();
  (void)transport.calls.on_answer(operation, transport.sent[0], {.outcome = Outcome::transient});
  transport.run(10s);
  const double draw = transport.streams.draw(Purpose::jitter, 42, 1);
  schedule::Backoff backoff;
  EXPECT_EQ(transport.times.at(1), Instant{backoff.next(policy.call.backoff, 0, draw)});
  (void)transport.calls.on_answer(operation, transport.sent[1], {});  // A success needs none.
  EXPECT_EQ(transport.draws, 3u);                                     // start, failure, timer
}

}  // namespace
}  // namespace damper::lab
