#include "damper/lab/world/callers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

constexpr std::uint32_t kWakes = 7;

// Attempts go nowhere; a test answers them by hand.
class Desk final : public Wire {
 public:
  explicit Desk(const engine::Policy& policy)
      : dependency("db", policy), streams(1), callers(queue, streams, *this, kWakes) {}

  Handle begin(const engine::CallOptions& options = {.idempotent = true}) {
    const Handle operation = callers.prepare(dependency, options);
    callers.find(operation)->number = 42;
    callers.start(operation);
    return operation;
  }
  // What is due by then happens.
  void run(Duration until) {
    while (const auto due = queue.pop(Instant{until})) {
      if (due->event.kind == kWakes) callers.on_wake(due->event);
    }
  }

  Handle on_send(Handle, Operation& caller, const engine::Attempt& attempt) override {
    said += (attempt.hedge ? "hedge" : "send") + std::to_string(attempt.number) + ' ';
    sent.push_back({attempt.number, static_cast<std::uint32_t>(caller.number)});
    times.push_back(queue.now());
    return sent.back();
  }
  void on_give_up(Handle handle) override { said += "drop" + std::to_string(handle.index) + ' '; }
  void on_over(const Operation& caller, Verdict verdict) override {
    said += std::string(name(verdict)) + ' ';
    draws = caller.draws;
    if (next_too) {
      next_too = false;
      (void)begin();
    }
  }

  timer::EventQueue queue;
  engine::Dependency dependency;
  Streams streams;
  Callers callers;
  std::vector<Handle> sent;
  std::vector<Instant> times;
  std::string said;
  std::uint32_t draws = 0;
  bool next_too = false;
};

TEST(Callers, ACallSendsAndEndsWithTheAnswer) {
  Desk desk(eager(3));
  const Handle operation = desk.begin();
  EXPECT_EQ(desk.callers.size(), 1u);
  EXPECT_TRUE(desk.callers.is_wanted(operation, desk.sent[0]));
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[0], {}));
  EXPECT_EQ(desk.said, "send1 success ");
  EXPECT_EQ(desk.callers.size(), 0u);
  EXPECT_EQ(desk.queue.size(), 0u);  // Its timer is gone with it.
}

TEST(Callers, AFailureIsFollowedByARetryWhenItsTimeHasCome) {
  engine::Policy policy = eager(3);
  policy.call.backoff.base = policy.call.backoff.cap = 10ms;
  Desk desk(policy);
  const Handle operation = desk.begin();
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[0], {.outcome = Outcome::transient}));
  EXPECT_EQ(desk.queue.size(), 1u);
  desk.run(1s);
  ASSERT_EQ(desk.times.size(), 2u);
  EXPECT_EQ(desk.times[1], Instant{10ms});
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[1], {.outcome = Outcome::permanent}));
  EXPECT_EQ(desk.said, "send1 send2 permanent ");
}

TEST(Callers, AnAttemptThatTimesOutIsGivenUpBeforeTheNextIsSent) {
  Desk desk(eager(2, 50ms));
  const Handle operation = desk.begin();
  desk.run(60ms);
  EXPECT_EQ(desk.said, "send1 drop1 send2 ");
  EXPECT_FALSE(desk.callers.is_wanted(operation, desk.sent[0]));
  EXPECT_TRUE(desk.callers.is_wanted(operation, desk.sent[1]));
  desk.run(1s);
  EXPECT_EQ(desk.said, "send1 drop1 send2 drop2 attempts_spent ");
}

TEST(Callers, AnAnswerThatNobodyWaitsForIsNotHeard) {  // Invariant 1.
  Desk desk(eager(2, 50ms));
  const Handle operation = desk.begin();
  desk.run(60ms);
  EXPECT_FALSE(desk.callers.on_answer(operation, desk.sent[0], {}));
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[1], {}));
  EXPECT_FALSE(desk.callers.on_answer(operation, desk.sent[1], {}));  // Nor twice.
  EXPECT_FALSE(desk.callers.is_wanted(operation, desk.sent[1]));
  EXPECT_EQ(desk.said, "send1 drop1 send2 success ");
}

TEST(Callers, NorIsItWhileTheCallWaitsForItsNextAttempt) {
  engine::Policy policy = eager(3, 50ms);
  policy.call.backoff.base = policy.call.backoff.cap = 10ms;
  Desk desk(policy);
  const Handle operation = desk.begin();
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[0], {.outcome = Outcome::transient}));
  EXPECT_FALSE(desk.callers.on_answer(operation, desk.sent[0], {}));  // A second answer.
  desk.run(60ms);  // The second attempt, sent at 10 ms, times out.
  EXPECT_EQ(desk.said, "send1 send2 drop2 ");
  EXPECT_FALSE(desk.callers.on_answer(operation, desk.sent[1], {}));
  desk.run(70ms);
  EXPECT_EQ(desk.said, "send1 send2 drop2 send3 ");
}

// Full jitter may be none at all: the call wants to be woken at the very time at which it is.
TEST(Callers, ARetryMayBeDueAtOnce) {
  engine::Policy policy = eager(2, 50ms);
  policy.call.backoff.jitter = schedule::Jitter::full;
  Desk desk(policy);
  (void)desk.begin();
  desk.run(50ms);
  EXPECT_EQ(desk.said, "send1 drop1 send2 ");
}

TEST(Callers, AnAnswerToNothingIsNotHeard) {
  Desk desk(eager(2));
  const Handle operation = desk.begin();
  EXPECT_FALSE(desk.callers.is_wanted(operation, Handle{}));  // Three lanes are free.
  EXPECT_FALSE(desk.callers.on_answer(operation, Handle{}, {}));
  EXPECT_FALSE(desk.callers.on_answer(Handle{}, desk.sent[0], {}));
  EXPECT_EQ(desk.said, "send1 ");
}

TEST(Callers, TheLoserOfARaceIsGivenUp) {
  engine::Policy policy = eager(3);
  policy.call.hedge = {.max_hedges = 1, .min_samples = 1, .ratio = Percent(100)};
  Desk desk(policy);
  Handle operation = desk.begin();
  (void)desk.callers.on_answer(operation, desk.sent[0], {});  // A first latency is known,
  desk.queue.schedule(Instant{5s}, {});                       // and looked up by now.
  desk.run(5s);
  desk.said.clear();
  operation = desk.begin();
  desk.run(10s);
  ASSERT_EQ(desk.said, "send1 hedge2 ");
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[2], {}));
  EXPECT_EQ(desk.said, "send1 hedge2 drop1 success ");
}

TEST(Callers, WhoeverIsCancelledGivesItsAttemptUp) {
  Desk desk(eager(3));
  desk.callers.cancel(desk.begin());
  EXPECT_EQ(desk.said, "send1 drop1 cancelled ");
  EXPECT_EQ(desk.callers.size(), 0u);
  EXPECT_EQ(desk.queue.size(), 0u);
  EXPECT_DEATH(desk.callers.cancel(Handle{}), "check failed");
}

TEST(Callers, OneThatIsOverMayStartAnother) {
  Desk desk(eager(1));
  desk.next_too = true;
  const Handle operation = desk.begin();
  EXPECT_TRUE(desk.callers.on_answer(operation, desk.sent[0], {}));
  EXPECT_EQ(desk.said, "send1 success send1 ");
  EXPECT_EQ(desk.callers.find(operation), nullptr);
  EXPECT_EQ(desk.callers.size(), 1u);
}

TEST(Callers, ADeadlineThatHasPassedEndsItBeforeAnythingIsSent) {
  Desk desk(eager(1));
  const Handle operation =
      desk.begin({.idempotent = true, .deadline = schedule::Deadline(Instant{})});
  EXPECT_EQ(desk.said, "deadline_passed ");
  EXPECT_EQ(desk.callers.find(operation), nullptr);
}

TEST(Callers, OneTimerIsPendingForEachAtMost) {
  Desk desk(eager(3, 1s));
  const Handle operation = desk.begin();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(desk.queue.size(), 1u);
    (void)desk.callers.on_answer(operation, desk.sent[i], {.outcome = Outcome::transient});
    EXPECT_EQ(desk.queue.size(), 1u);
    desk.run(1ms);
  }
  EXPECT_EQ(desk.said, "send1 send2 send3 ");
}

// Invariant 2: a retry's jitter is draw number 1 of the operation's own stream.
TEST(Callers, DrawsBelongToTheOperation) {
  engine::Policy policy = eager(3);
  policy.call.backoff = {.jitter = schedule::Jitter::full, .base = 1s, .cap = 1s};
  Desk desk(policy);
  const Handle operation = desk.begin();
  (void)desk.callers.on_answer(operation, desk.sent[0], {.outcome = Outcome::transient});
  desk.run(10s);
  const double draw = desk.streams.draw(Purpose::jitter, 42, 1);
  schedule::Backoff backoff;
  EXPECT_EQ(desk.times.at(1), Instant{backoff.next(policy.call.backoff, 0, draw)});
  (void)desk.callers.on_answer(operation, desk.sent[1], {});  // A success needs none.
  EXPECT_EQ(desk.draws, 3u);                                  // start, failure, timer
}

}  // namespace
}  // namespace damper::lab
