#include "damper/timer/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "damper/base/random.h"
#include "damper/timer/heap_queue_testing.h"

namespace damper::timer {
namespace {

using namespace std::chrono_literals;
using Due = EventQueue::Due;
using Timer = EventQueue::Timer;

static_assert(sizeof(Timer) == 8 && std::is_trivially_copyable_v<Timer>);

constexpr Instant at(std::int64_t ns) { return Instant{Duration{ns}}; }
constexpr TimedEvent event(std::uint64_t detail) {
  return {.kind = 1, .subject = 2, .detail = detail};
}

// The details of all that happens, in order.
std::vector<std::uint64_t> drain(EventQueue& queue, Instant until = kNever) {
  std::vector<std::uint64_t> found;
  while (const auto due = queue.pop(until)) found.push_back(due->event.detail);
  return found;
}

using Details = std::vector<std::uint64_t>;

TEST(EventQueue, StartsEmptyAtZero) {
  EventQueue queue;
  EXPECT_EQ(queue.now(), Instant{});
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.most(), 0u);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.now(), Instant{});
}

TEST(EventQueue, GivesEachEventBackAtItsInstant) {
  EventQueue queue;
  const TimedEvent first{.kind = 7, .subject = 8, .detail = ~0ULL};
  queue.schedule(at(10), first);
  queue.schedule(Instant{72h}, {});
  EXPECT_EQ(queue.pop(), (Due{at(10), first}));
  EXPECT_EQ(queue.now(), at(10));
  EXPECT_EQ(queue.pop(), (Due{Instant{72h}, {}}));
  EXPECT_EQ(queue.now(), Instant{72h});
}

TEST(EventQueue, OrdersByInstantAndThenByInsertion) {  // Invariant 1.
  EventQueue queue;
  const std::int64_t instants[] = {5, 1, 5, 3, 1, 5};
  for (std::uint64_t i = 0; i < 6; ++i) queue.schedule(at(instants[i]), event(i));
  EXPECT_EQ(drain(queue), (Details{1, 4, 3, 0, 2, 5}));
}

TEST(EventQueue, WhatIsScheduledForNowHappensAfterAllThatWas) {  // Invariant 1.
  EventQueue queue;
  for (std::uint64_t i = 0; i < 1000; ++i) queue.schedule(at(50), event(i));
  queue.schedule(at(51), event(3000));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(queue.pop()->event, event(i));
    queue.schedule(queue.now(), event(1000 + i));
  }
  for (std::uint64_t i = 1000; i < 2000; ++i) ASSERT_EQ(queue.pop(), (Due{at(50), event(i)}));
  EXPECT_EQ(drain(queue), Details{3000});
}

TEST(EventQueue, ReversedTiesHappenFromTheLastToTheFirst) {  // Invariant 1.
  EventQueue queue(Ties::reversed);
  const std::int64_t instants[] = {5, 1, 5, 3, 1, 5};
  for (std::uint64_t i = 0; i < 6; ++i) queue.schedule(at(instants[i]), event(i));
  EXPECT_EQ(queue.pop()->event, event(4));
  queue.schedule(queue.now(), event(6));
  EXPECT_EQ(drain(queue), (Details{6, 1, 3, 5, 2, 0}));
}

// Those at the horizon go to the wheel after others of their instant, and stay before them.
TEST(EventQueue, TiesStayInOrderWhenTheHorizonComesCloserTwice) {  // Invariants 1 and 7.
  EventQueue queue;
  Details expected;
  for (std::uint64_t i = 0; i < 300; ++i) queue.schedule(at(9), event(i));
  for (std::uint64_t i = 300; i < 600; ++i) {
    queue.schedule(at(8), event(i));
    expected.push_back(i);
  }
  for (std::uint64_t i = 0; i < 300; ++i) expected.push_back(i);
  EXPECT_EQ(drain(queue), expected);
}

TEST(EventQueue, TimeNeverGoesBack) {  // Invariant 2.
  EventQueue queue;
  queue.schedule(at(-5), event(1));
  queue.schedule(at(0), event(2));
  EXPECT_EQ(queue.pop(), (Due{at(0), event(1)}));
  queue.schedule(at(100), event(3));
  EXPECT_EQ(drain(queue), (Details{2, 3}));
  queue.schedule(at(100), event(4));
  queue.schedule(at(99), event(5));
  queue.schedule(Instant::min(), event(6));
  EXPECT_EQ(queue.pop(), (Due{at(100), event(4)}));
  EXPECT_EQ(queue.pop(), (Due{at(100), event(5)}));
  EXPECT_EQ(queue.pop(), (Due{at(100), event(6)}));
}

TEST(EventQueue, ATimerIsPendingUntilItHappensOrIsCancelled) {  // Invariant 3.
  EventQueue queue;
  const Timer a = queue.schedule(at(1), event(1));
  const Timer b = queue.schedule(at(2), event(2));
  EXPECT_TRUE(queue.is_pending(a));
  EXPECT_TRUE(queue.is_pending(b));
  EXPECT_EQ(queue.pop()->event, event(1));
  EXPECT_FALSE(queue.is_pending(a));
  EXPECT_FALSE(queue.cancel(a));
  EXPECT_TRUE(queue.cancel(b));
  EXPECT_FALSE(queue.is_pending(b));
  EXPECT_FALSE(queue.cancel(b));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.now(), at(1));  // What was cancelled takes no time.
}

TEST(EventQueue, AStaleTimerDoesNotTouchTheEventThatHasItsSlot) {  // Invariant 3.
  EventQueue queue;
  const Timer a = queue.schedule(at(1), event(1));
  ASSERT_TRUE(queue.cancel(a));
  const Timer b = queue.schedule(at(1), event(2));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(queue.cancel(a));
  EXPECT_TRUE(queue.is_pending(b));
  EXPECT_EQ(drain(queue), Details{2});
}

TEST(EventQueue, CancelledEventsMakeRoomForOthers) {
  for (const std::uint64_t kept : {0u, 1u, 2u, 60u, 96u, 97u, 128u}) {
    SCOPED_TRACE(kept);
    EventQueue queue;
    std::vector<Timer> timers;  // As many as near_ has room for.
    for (std::uint64_t i = 0; i < 128; ++i) timers.push_back(queue.schedule(at(1), event(i)));
    for (std::uint64_t i = kept; i < 128; ++i) ASSERT_TRUE(queue.cancel(timers[i]));
    queue.schedule(at(0), event(500));
    queue.schedule(at(1), event(501));
    Details expected{500};
    for (std::uint64_t i = 0; i < kept; ++i) expected.push_back(i);
    expected.push_back(501);
    EXPECT_EQ(drain(queue), expected);
    EXPECT_EQ(queue.most(), std::max<std::uint64_t>(128, kept + 2));
  }
}

TEST(EventQueue, ATimerMadeFromNothingNamesNothing) {
  EventQueue queue;
  EXPECT_FALSE(queue.is_pending(Timer{}));
  EXPECT_FALSE(queue.cancel(Timer{}));
  queue.schedule(at(1), event(1));
  EXPECT_FALSE(queue.cancel(Timer{}));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(EventQueue, WhatIsScheduledForNeverDoesNotHappen) {  // Invariant 4.
  EventQueue queue;
  const Timer never = queue.schedule(kNever, event(1));
  EXPECT_EQ(never, Timer{});
  EXPECT_FALSE(queue.is_pending(never));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.pop(), std::nullopt);
  queue.schedule(kNever - 1ns, event(2));
  EXPECT_EQ(queue.pop(), (Due{kNever - 1ns, event(2)}));
}

TEST(EventQueue, PopTakesNothingLaterThanUntil) {  // Invariant 5.
  EventQueue queue;
  for (std::uint64_t i = 0; i < 300; ++i) {
    queue.schedule(at(1'000'000 * static_cast<std::int64_t>(i / 2)), event(i));
  }
  EXPECT_EQ(queue.pop(at(-1)), std::nullopt);
  EXPECT_EQ(drain(queue, at(1'999'999)), (Details{0, 1, 2, 3}));
  EXPECT_EQ(queue.now(), at(1'000'000));
  EXPECT_EQ(queue.size(), 296u);
  EXPECT_EQ(drain(queue, at(2'000'000)), (Details{4, 5}));
  EXPECT_EQ(queue.pop(at(0)), std::nullopt);   // Long past.
  queue.schedule(at(2'500'000), event(1000));  // Before the one that pop has looked at.
  EXPECT_EQ(drain(queue, at(3'000'000)), (Details{1000, 6, 7}));
  EXPECT_EQ(drain(queue).size(), 292u);
}

TEST(EventQueue, SaysWhenTheNextEventIsDueAndChangesNothing) {
  EventQueue queue;
  EXPECT_EQ(queue.next(), kNever);
  queue.schedule(kNever, event(1));
  EXPECT_EQ(queue.next(), kNever);
  queue.schedule(at(70), event(2));
  const Timer first = queue.schedule(at(50), event(3));
  EXPECT_EQ(queue.next(), at(50));
  EXPECT_EQ(queue.now(), at(0));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_TRUE(queue.is_pending(first));
  queue.schedule(at(40), event(4));  // Before the one that next() has looked at.
  EXPECT_EQ(queue.next(), at(40));
  EXPECT_EQ(queue.pop(at(39)), std::nullopt);
  EXPECT_EQ(drain(queue), (Details{4, 3, 2}));
  EXPECT_EQ(queue.next(), kNever);
}

TEST(EventQueue, TheNextEventIsNeverOneThatWasCancelled) {
  for (const std::uint64_t many : {3u, 128u, 1000u}) {  // Near, a full near_, and the wheel.
    EventQueue queue;
    std::vector<Timer> timers;
    for (std::uint64_t i = 0; i < many; ++i) {
      timers.push_back(queue.schedule(at(1000 * static_cast<std::int64_t>(i + 1)), event(i)));
    }
    for (std::uint64_t i = 0; i + 1 < many; ++i) {
      ASSERT_TRUE(queue.cancel(timers[i]));
      ASSERT_EQ(queue.next(), at(1000 * static_cast<std::int64_t>(i + 2))) << many;
    }
    queue.cancel(timers.back());
    EXPECT_EQ(queue.next(), kNever);
  }
}

TEST(EventQueue, WhatIsScheduledLateIsNextNow) {  // Invariant 2.
  EventQueue queue;
  queue.schedule(at(100), event(1));
  ASSERT_EQ(queue.pop(), (Due{at(100), event(1)}));
  queue.schedule(at(3), event(2));
  EXPECT_EQ(queue.next(), at(100));
}

TEST(EventQueue, CountsWhatIsPendingAndTheMostThatEverWas) {
  EventQueue queue;
  const Timer a = queue.schedule(at(1), event(1));
  queue.schedule(at(2), event(2));
  EXPECT_EQ(queue.size(), 2u);
  queue.cancel(a);
  EXPECT_EQ(queue.size(), 1u);
  queue.schedule(at(2), event(3));
  EXPECT_EQ(queue.most(), 2u);
  (void)drain(queue);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.most(), 2u);
}

TEST(EventQueue, AMillionAtOneInstantHappenInOrder) {
  EventQueue queue;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) queue.schedule(Instant{10s}, event(i));
  for (std::uint64_t i = 0; i < 1'000'000; ++i) ASSERT_EQ(queue.pop()->event.detail, i);
  EXPECT_EQ(queue.now(), Instant{10s});
}

// A million where only one was expected: what a heap inside the horizon would pay for.
TEST(EventQueue, ABurstBeforeTheNextEventIsOrderedToo) {
  EventQueue queue;
  for (int i = 0; i < 200; ++i) queue.schedule(Instant{1h} + 1s * i, event(0));
  queue.schedule(at(1), event(0));
  ASSERT_EQ(queue.pop(), (Due{at(1), event(0)}));
  Random random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    queue.schedule(Instant{Duration{random.bits() % 3'600'000'000'000}}, event(0));
  }
  std::size_t count = 0;
  Instant last = queue.now();
  while (const auto due = queue.pop()) {
    ASSERT_LE(last, due->at);
    last = due->at;
    ++count;
  }
  EXPECT_EQ(count, 1'000'200u);
}

// ---- Against the heap, over many seeds ---------------------------------------------------------

// How far ahead a scenario schedules.
enum class Ahead { ties, dense, one_span, every_span, few_instants, far };
constexpr Ahead kAheads[] = {Ahead::ties,       Ahead::dense,        Ahead::one_span,
                             Ahead::every_span, Ahead::few_instants, Ahead::far};

// The same calls on both queues, all answers compared. Invariants 1 to 5.
class Comparison {
 public:
  Comparison(Ahead ahead, Ties ties, std::uint64_t seed)
      : ahead_(ahead), random_(seed), big_(random_.bits() % 4 == 0), ours_(ties), theirs_(ties) {
    double sum = 0;
    for (double& weight : weights_) weight = sum += random_.draw();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) step();
    while (ours_.size() > 0 && !testing::Test::HasFatalFailure()) pop(kNever);
    pop(kNever);
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.bits() % bound; }

  Instant somewhen() {
    const Instant now = theirs_.now();
    const auto ahead = [&]() -> std::uint64_t {
      switch (ahead_) {
        case Ahead::ties: return below(3);
        case Ahead::dense: return below(2000);
        case Ahead::one_span: return below(5'000'000'000);
        case Ahead::every_span: return below(std::uint64_t{1} << below(50));
        case Ahead::few_instants: return (below(4) + 1) * 1'000'000;
        case Ahead::far: return below(std::uint64_t{1} << 62);
      }
      return 0;
    }();
    if (below(50) == 0) return now - Duration{below(1000)};
    return add(now, Duration{static_cast<std::int64_t>(ahead)});
  }

  void step() {
    const double pick = random_.draw() * weights_[3];
    if (pick < weights_[0]) {
      for (std::uint64_t i = 1 + below(big_ ? 300 : 3); i-- > 0;) schedule(somewhen());
    } else if (pick < weights_[1]) {
      const Instant burst = somewhen();
      for (std::uint64_t i = below(big_ ? 300 : 20); i-- > 0;) schedule(burst);
    } else if (pick < weights_[2]) {
      for (std::uint64_t i = below(big_ ? 300 : 5); i-- > 0;) cancel();
    } else {
      if (below(2) == 0) {
        ASSERT_EQ(ours_.next(), theirs_.next());
      }
      const Instant until = below(2) == 0 ? kNever : somewhen();
      for (std::uint64_t i = below(big_ ? 300 : 5); i-- > 0;) pop(until);
    }
  }

  void schedule(Instant when) {
    const TimedEvent what{.kind = 1, .subject = 2, .detail = number_++};
    timers_.push_back({ours_.schedule(when, what), theirs_.schedule(when, what)});
    compare();
  }
  void cancel() {  // The newest, or any that ever was.
    if (timers_.empty()) return;
    const auto any = below(3) == 0 ? timers_.size() - 1 : below(timers_.size());
    const auto [ours, theirs] = timers_[any];
    ASSERT_EQ(ours_.is_pending(ours), theirs_.is_pending(theirs));
    ASSERT_EQ(ours_.cancel(ours), theirs_.cancel(theirs));
    ASSERT_FALSE(ours_.is_pending(ours));
    compare();
  }
  void pop(Instant until) {
    ASSERT_EQ(ours_.pop(until), theirs_.pop(until));
    compare();
  }
  void compare() {
    ASSERT_EQ(ours_.size(), theirs_.size());
    ASSERT_EQ(ours_.most(), theirs_.most());
    ASSERT_EQ(ours_.now(), theirs_.now());
  }

  struct Timers {
    EventQueue::Timer ours;
    HeapQueue::Timer theirs;
  };
  Ahead ahead_;
  Random random_;
  bool big_;           // Or nothing would ever leave near_.
  double weights_[4];  // of the kinds of step, summed up
  EventQueue ours_;
  HeapQueue theirs_;
  std::vector<Timers> timers_;
  std::uint64_t number_ = 0;
};

class EventQueueProperty : public testing::TestWithParam<Ahead> {};

TEST_P(EventQueueProperty, AgreesWithTheHeap) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const Ties ties : {Ties::in_order, Ties::reversed}) {
      Comparison(GetParam(), ties, seed).run(200);
      if (HasFatalFailure()) return;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Aheads, EventQueueProperty, testing::ValuesIn(kAheads));

}  // namespace
}  // namespace damper::timer
