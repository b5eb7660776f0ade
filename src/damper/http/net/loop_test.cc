#include "damper/http/net/loop.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "damper/run/clock.h"

namespace damper::http {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class TestTimer final : public Loop::Timer {
 public:
  TestTimer(Loop& loop, std::function<void(Instant)> then)
      : Loop::Timer(loop), then_(std::move(then)) {}

 private:
  void on_timer(Instant now) override { then_(now); }
  std::function<void(Instant)> then_;
};

class TestTurnEnd final : public Loop::TurnEnd {
 public:
  TestTurnEnd(Loop& loop, std::function<void()> then)
      : Loop::TurnEnd(loop), then_(std::move(then)) {}

 private:
  void on_turn_end() override { then_(); }
  std::function<void()> then_;
};

TEST(Loop, EndsWhenThereIsNothingToWaitFor) {
  Loop loop;
  loop.run();
  int ran = 0;
  boost::asio::post(loop.context(), [&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 1);
}

TEST(Loop, TimersHappenInOrderOfTimeAndNeverEarly) {
  Loop loop;
  std::string trace;
  const Instant start = run::now();
  TestTimer late(loop, [&](Instant now) {
    EXPECT_GE(now, add(start, milliseconds(4)));
    trace += "late ";
  });
  TestTimer soon(loop, [&](Instant now) {
    EXPECT_GE(now, add(start, milliseconds(2)));
    trace += "soon ";
  });
  late.arm(add(start, milliseconds(4)));
  soon.arm(add(start, milliseconds(2)));
  loop.run();
  EXPECT_EQ(trace, "soon late ");
  EXPECT_EQ(late.due(), kNever);
}

TEST(Loop, ATimerThatIsMovedHappensOnceAtItsLastTime) {
  Loop loop;
  const Instant start = run::now();
  int later = 0;
  int earlier = 0;
  TestTimer moved_later(loop, [&](Instant now) {
    ++later;
    EXPECT_GE(now, add(start, milliseconds(6)));
  });
  TestTimer moved_earlier(loop, [&](Instant now) {
    ++earlier;
    EXPECT_LT(now, add(start, seconds(5)));
  });
  moved_later.arm(add(start, milliseconds(2)));
  moved_later.arm(add(start, milliseconds(6)));
  moved_earlier.arm(add(start, seconds(5)));
  moved_earlier.arm(add(start, milliseconds(1)));
  loop.run();
  EXPECT_EQ(later, 1);
  EXPECT_EQ(earlier, 1);
}

TEST(Loop, ACancelledTimerNeitherHappensNorKeepsTheLoopAlive) {
  Loop loop;
  TestTimer timer(loop, [](Instant) { FAIL(); });
  timer.arm(add(run::now(), seconds(100)));
  timer.cancel();
  auto gone = std::make_unique<TestTimer>(loop, [](Instant) { FAIL(); });
  gone->arm(add(run::now(), microseconds(1)));
  gone.reset();
  loop.run();
}

TEST(Loop, ATimerMayDestroyItselfAndArmItself) {
  Loop loop;
  int runs = 0;
  std::unique_ptr<TestTimer> timer;
  timer = std::make_unique<TestTimer>(loop, [&](Instant now) {
    if (++runs < 3) {
      timer->arm(now);
    } else {
      timer.reset();
    }
  });
  timer->arm(run::now());
  loop.run();
  EXPECT_EQ(runs, 3);
}

TEST(Loop, ATimerThatIsAlwaysDueDoesNotKeepHandlersFromRunning) {
  Loop loop;
  TestTimer timer(loop, [&](Instant now) { timer.arm(now); });
  timer.arm(run::now());
  boost::asio::post(loop.context(), [&] { timer.cancel(); });
  loop.run();
}

TEST(Loop, TheEndOfATurnComesOnceBeforeTheLoopSleeps) {
  Loop loop;
  std::string trace;
  TestTurnEnd end(loop, [&] { trace += "end "; });
  end.ask_turn_end();
  TestTimer timer(loop, [&](Instant) {
    trace += "timer ";
    end.ask_turn_end();
    end.ask_turn_end();
  });
  timer.arm(add(run::now(), milliseconds(2)));
  loop.run();
  EXPECT_EQ(trace, "end timer end ");
}

TEST(Loop, OneWhoAlwaysAsksForTheEndOfATurnDoesNotKeepHandlersFromRunning) {
  Loop loop;
  bool enough = false;
  TestTurnEnd end(loop, [&] {
    if (!enough) end.ask_turn_end();
  });
  boost::asio::post(loop.context(), [&] {
    end.ask_turn_end();
    boost::asio::post(loop.context(), [&] { enough = true; });
  });
  loop.run();
  EXPECT_TRUE(enough);
}

TEST(Loop, OneWhoWaitsForTheEndOfATurnMayGo) {
  Loop loop;
  int ends = 0;
  auto second = std::make_unique<TestTurnEnd>(loop, [&] { ++ends; });
  TestTurnEnd first(loop, [&] { second.reset(); });
  std::unique_ptr<TestTurnEnd> third;
  third = std::make_unique<TestTurnEnd>(loop, [&] {
    ++ends;
    third.reset();
  });
  first.ask_turn_end();
  second->ask_turn_end();
  third->ask_turn_end();
  loop.run();
  EXPECT_EQ(ends, 1);
}

TEST(Loop, StopFromAnotherThreadEndsIt) {
  Loop loop;
  TestTimer timer(loop, [](Instant) { FAIL(); });
  timer.arm(add(run::now(), seconds(100)));
  std::thread other([&] { boost::asio::post(loop.context(), [&] { loop.stop(); }); });
  loop.run();
  other.join();
  loop.stop();  // Before run(), too.
  loop.run();
  EXPECT_NE(timer.due(), kNever);
}

TEST(Loop, KnowsWhoRunsIt) {
  Loop loop;
  EXPECT_TRUE(loop.is_here());
  boost::asio::post(loop.context(), [&] {
    EXPECT_TRUE(loop.is_here());
    std::thread([&] { EXPECT_FALSE(loop.is_here()); }).join();
  });
  loop.run();
  EXPECT_TRUE(loop.is_here());
}

TEST(Loop, TheTimeStandsStillForATurn) {
  Loop loop;
  boost::asio::post(loop.context(), [&] {
    const Instant before = loop.now();
    while (run::now() == before) continue;
    EXPECT_EQ(loop.now(), before);
  });
  loop.run();
  const Instant outside = loop.now();
  while (run::now() == outside) continue;
  EXPECT_GT(loop.now(), outside);
  EXPECT_EQ(loop.scratch().size(), 65536U);
}

TEST(Loop, AStopOfATimerOrOfATurnEndIsOverWithItsRun) {
  Loop loop;
  int ran = 0;
  TestTimer timer(loop, [&](Instant) { loop.stop(); });
  timer.arm(run::now());
  loop.run();
  boost::asio::post(loop.context(), [&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 1);
  TestTurnEnd end(loop, [&] { loop.stop(); });
  end.ask_turn_end();
  loop.run();
  boost::asio::post(loop.context(), [&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 2);
}

TEST(Loop, AnExceptionLeavesALoopThatRunsAgain) {
  Loop loop;
  boost::asio::post(loop.context(), [] { throw 1; });
  EXPECT_THROW(loop.run(), int);
  bool here = false;
  std::thread([&] { here = loop.is_here(); }).join();
  EXPECT_TRUE(here);  // Nobody runs it.
  const Instant before = loop.now();
  EXPECT_NE(before, Instant{});
  int ran = 0;
  boost::asio::post(loop.context(), [&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 1);
}

TEST(Loop, WhoAsksAgainHasTheNextRoundAlsoWhenTheLastOneIsGone) {
  Loop loop;
  int calls = 0;
  int calls_of_a_turn = 0;
  auto last = std::make_unique<TestTurnEnd>(loop, [] {});
  TestTurnEnd eager(loop, [&] {
    last.reset();
    if (++calls < 1000) eager.ask_turn_end();
  });
  eager.ask_turn_end();
  last->ask_turn_end();
  boost::asio::post(loop.context(), [&] { calls_of_a_turn = calls; });
  loop.run();
  EXPECT_EQ(calls, 1000);
  EXPECT_LT(calls_of_a_turn, 10);  // The handler was not kept waiting.
}

}  // namespace
}  // namespace damper::http
