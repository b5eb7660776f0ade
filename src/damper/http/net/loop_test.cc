#include "damper/http/net/loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
  loop.post([&] { ++ran; });
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
  loop.post([&] { timer.cancel(); });
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
  loop.post([&] {
    end.ask_turn_end();
    loop.post([&] { enough = true; });
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
  std::thread other([&] { loop.post([&] { loop.stop(); }); });
  loop.run();
  other.join();
  loop.stop();  // Before run(), too.
  loop.run();
  EXPECT_NE(timer.due(), kNever);
}

TEST(Loop, KnowsWhoRunsIt) {
  Loop loop;
  EXPECT_TRUE(loop.is_here());
  loop.post([&] {
    EXPECT_TRUE(loop.is_here());
    std::thread([&] { EXPECT_FALSE(loop.is_here()); }).join();
  });
  loop.run();
  EXPECT_TRUE(loop.is_here());
}

TEST(Loop, TheTimeStandsStillForATurn) {
  Loop loop;
  loop.post([&] {
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
  loop.post([&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 1);
  TestTurnEnd end(loop, [&] { loop.stop(); });
  end.ask_turn_end();
  loop.run();
  loop.post([&] { ++ran; });
  loop.run();
  EXPECT_EQ(ran, 2);
}

TEST(Loop, AnExceptionLeavesALoopThatRunsAgain) {
  Loop loop;
  loop.post([] { throw 1; });
  EXPECT_THROW(loop.run(), int);
  bool here = false;
  std::thread([&] { here = loop.is_here(); }).join();
  EXPECT_TRUE(here);  // Nobody runs it.
  const Instant before = loop.now();
  EXPECT_NE(before, Instant{});
  int ran = 0;
  loop.post([&] { ++ran; });
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
  loop.post([&] { calls_of_a_turn = calls; });
  loop.run();
  EXPECT_EQ(calls, 1000);
  EXPECT_LT(calls_of_a_turn, 10);  // The handler was not kept waiting.
}

TEST(Loop, WorkKeepsItRunningUntilAnotherThreadEndsIt) {
  Loop loop;
  std::optional<Loop::Work> work(loop);
  std::thread other([&] {
    while (loop.is_here()) std::this_thread::yield();  // until it runs
    work.reset();
  });
  loop.run();
  other.join();
  EXPECT_FALSE(work);
}

TEST(Loop, PostedFunctionsRunInOrderAndThoseOfAnExceptionLater) {
  Loop loop;
  std::string trace;
  loop.post([&] {
    trace += "a";
    loop.post([&] { trace += "d"; });
    throw 1;
  });
  loop.post([&] { trace += "b"; });
  loop.post([&] { trace += "c"; });
  EXPECT_THROW(loop.run(), int);
  EXPECT_EQ(trace, "a");
  loop.run();
  EXPECT_EQ(trace, "abcd");
}

TEST(Loop, PostsOfManyThreadsAllRun) {
  Loop loop;
  std::optional<Loop::Work> work(loop);
  int ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        loop.post([&] {
          if (++ran == 40'000) work.reset();
        });
      }
    });
  }
  loop.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 40'000);
}

TEST(Loop, DestroysPostedFunctionsThatItHasNotRun) {
  auto owned = std::make_shared<int>(0);
  {
    Loop loop;
    struct Again {  // Its destructor posts.
      Loop* loop;
      std::shared_ptr<int> owned;
      ~Again() {
        loop->post([kept = owned] {});
      }
    };
    loop.post([again = std::make_shared<Again>(Again{&loop, owned})] {});
  }
  EXPECT_EQ(owned.use_count(), 1);
}

// A descriptor that tests make readable.
class Counter final : public Loop::Registration {
 public:
  explicit Counter(Loop& loop) : loop_(loop), fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    EXPECT_TRUE(loop_.try_add(fd_, *this));
  }
  ~Counter() override {
    loop_.remove(fd_, *this);
    (void)::close(fd_);
  }
  void change() const {
    constexpr std::uint64_t kOne = 1;
    EXPECT_EQ(::write(fd_, &kOne, sizeof(kOne)), 8);
  }

  int changes = 0;
  std::function<void()> then = [] {};

 private:
  void on_events(std::uint32_t events) override {
    if ((events & EPOLLIN) == 0) return;  // It is always writable.
    ++changes;
    then();
  }

  Loop& loop_;
  int fd_;
};

std::vector<std::unique_ptr<Counter>> make_counters(Loop& loop, std::size_t count) {
  std::vector<std::unique_ptr<Counter>> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(std::make_unique<Counter>(loop));
  for (std::size_t i = 0; i <= count; i += 256) loop.poll();  // The first event is EPOLLOUT.
  return made;
}

// (5)
TEST(LoopEvents, EachOfManyChangesIsDispatchedOnce) {
  Loop loop;
  const auto all = make_counters(loop, 1500);  // more than a turn dispatches
  for (const auto& one : all) one->change();
  for (int turn = 0; turn < 10; ++turn) loop.poll();
  for (const auto& one : all) EXPECT_EQ(one->changes, 1);
}

// (5)
TEST(LoopEvents, ARegistrationThatAnotherRemovedIsNotCalled) {
  Loop loop;
  auto all = make_counters(loop, 2);
  all[0]->then = [&] { all[1].reset(); };
  all[1]->then = [&] { all[0].reset(); };
  for (const auto& one : all) one->change();
  loop.poll();
  EXPECT_NE(all[0] == nullptr, all[1] == nullptr);
}

// (6)
TEST(LoopEvents, AnExceptionLeavesTheOtherEventsForTheNextRun) {
  Loop loop;
  const auto all = make_counters(loop, 3);
  for (const auto& one : all) {
    one->then = [] { throw std::runtime_error("dispatched"); };
    one->change();
  }
  for (int thrown = 0; thrown < 3; ++thrown) EXPECT_THROW(loop.poll(), std::runtime_error);
  loop.poll();
  for (const auto& one : all) EXPECT_EQ(one->changes, 1);
}

TEST(LoopEvents, AHeldWaitKeepsItRunning) {
  Loop loop;
  const auto all = make_counters(loop, 1);
  loop.run();  // No wait: it returns.
  loop.hold();
  all[0]->then = [&] { loop.release(); };
  all[0]->change();
  loop.run();
  EXPECT_EQ(all[0]->changes, 1);
}

// (4)
TEST(LoopEvents, ABusyDescriptorStarvesNeitherPostsNorTurnEnds) {
  Loop loop;
  const auto busy = make_counters(loop, 3);
  loop.hold();
  int posted_at = 0;
  int ended_at = 0;
  TestTurnEnd end(loop, [&] { ended_at = busy[0]->changes; });
  for (const auto& one : busy) {
    one->then = [&, counter = one.get()] { counter->change(); };
    one->change();
  }
  busy[0]->then = [&] {
    busy[0]->change();
    if (busy[0]->changes == 20) {
      end.ask_turn_end();
      loop.post([&] { posted_at = busy[0]->changes; });
    }
    if (busy[0]->changes == 60) loop.stop();
  };
  loop.run();
  EXPECT_EQ(ended_at, 20);
  EXPECT_EQ(posted_at, 20);
}

}  // namespace
}  // namespace damper::http
