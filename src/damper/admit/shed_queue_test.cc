#include "damper/admit/shed_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::admit {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using enum Criticality;

constexpr Instant at(std::int64_t ms) { return Instant{milliseconds(ms)}; }

// A queue that is spoken to in milliseconds, and writes down what it drops.
struct Bench {
  explicit Bench(const ShedQueueOptions& options) : queue(options) {}
  ShedQueue<int>::Pushed push(int item, Criticality c, std::int64_t now,
                              std::int64_t deadline = 1'000'000) {
    return queue.push(std::move(item), c, at(deadline), at(now), 0.5);
  }
  auto sink() {
    return [this](ShedQueue<int>::Dropped&& dropped) {
      log += std::to_string(dropped.item) + ":" + std::string(name(dropped.reason)) + " ";
    };
  }
  int pop(std::int64_t now) {  // -1: none
    return queue.pop(at(now), sink()).value_or(-1);
  }
  ShedQueue<int> queue;
  std::string log;
};

TEST(ShedQueue, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(ShedQueueOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 0}), "capacity is 0; it must be from 1 to 1000000");
  EXPECT_EQ(find_error({.capacity = 1'000'001}),
            "capacity is 1000001; it must be from 1 to 1000000");
  EXPECT_EQ(find_error({.interval = Duration(999'000)}),
            "interval is 999us; it must be from 1ms to 1h");
  EXPECT_EQ(find_error({.interval = hours(2)}), "interval is 2h; it must be from 1ms to 1h");
  EXPECT_EQ(find_error({.target = Duration{0}}), "target is 0s; it must be from 1ns to 100ms");
  EXPECT_EQ(find_error({.target = milliseconds(101)}),
            "target is 101ms; it must be from 1ns to 100ms");
  EXPECT_EQ(find_error({.needed = Duration{0}}), "needed is 0s; it must be from 1ns to 720h");
  EXPECT_EQ(find_error({.longest_retry_after = milliseconds(99)}),
            "longest_retry_after is 99ms; it must be from 100ms to 24h");
}

TEST(ShedQueue, IsFifoWhileHealthyAndTheMoreCriticalGoFirst) {  // Invariant (4)
  Bench bench({});
  for (const int item : {1, 2}) EXPECT_TRUE(bench.push(item, sheddable, 0).accepted());
  for (const int item : {3, 4}) EXPECT_TRUE(bench.push(item, critical, 1).accepted());
  EXPECT_TRUE(bench.push(5, critical_plus, 2).accepted());
  EXPECT_TRUE(bench.push(6, sheddable_plus, 2).accepted());
  EXPECT_EQ(bench.queue.depth(), 6U);
  EXPECT_EQ(bench.queue.depth(sheddable), 2U);
  EXPECT_EQ(bench.queue.oldest_age(at(9)), milliseconds(9));
  std::vector<int> order;
  for (int i = 0; i < 7; ++i) order.push_back(bench.pop(50));
  EXPECT_EQ(order, (std::vector<int>{5, 3, 4, 6, 1, 2, -1}));
  EXPECT_EQ(bench.log, "");
  EXPECT_EQ(bench.queue.oldest_age(at(60)), Duration{0});
}

TEST(ShedQueue, PressureBeginsAfterTheIntervalNotAtIt) {
  Bench bench({});
  for (int item = 1; item <= 3; ++item) ASSERT_TRUE(bench.push(item, critical, 0).accepted());
  EXPECT_FALSE(bench.queue.under_pressure(at(100)));
  EXPECT_EQ(bench.pop(100), 1);  // Empty 100 ms ago: healthy, FIFO, nothing overdue.
  EXPECT_EQ(bench.log, "");
  EXPECT_TRUE(bench.queue.under_pressure(at(101)));
  EXPECT_EQ(bench.pop(101), 3);        // Newest first,
  EXPECT_EQ(bench.log, "2:overdue ");  // and 2 has waited for 101 ms.
  EXPECT_FALSE(bench.queue.under_pressure(at(101)));
  EXPECT_EQ(bench.queue.dropped(critical, ShedReason::overdue), 1U);
}

TEST(ShedQueue, UnderPressureTheTargetBoundsTheWait) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 0).accepted());
  ASSERT_TRUE(bench.push(2, critical, 100).accepted());
  ASSERT_TRUE(bench.push(3, critical, 196).accepted());
  ASSERT_TRUE(bench.push(4, critical, 197).accepted());
  ASSERT_TRUE(bench.push(5, critical, 198).accepted());
  EXPECT_EQ(bench.pop(201), 5);
  EXPECT_EQ(bench.log, "1:overdue 2:overdue ");  // 3 has waited for exactly 5 ms.
  EXPECT_EQ(bench.pop(202), 4);
  EXPECT_EQ(bench.log, "1:overdue 2:overdue 3:overdue ");
}

TEST(ShedQueue, AWorkerIsNotSentAwayWhileSomethingCanStillBeServed) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 0).accepted());
  ASSERT_TRUE(bench.push(2, critical, 0).accepted());
  EXPECT_EQ(bench.pop(5000), 2);  // Long overdue, but the newest there is.
  EXPECT_EQ(bench.log, "1:overdue ");
}

TEST(ShedQueue, TheLowestClassIsShedFirst) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 0).accepted());
  ASSERT_TRUE(bench.push(2, critical, 50).accepted());
  ASSERT_TRUE(bench.push(3, sheddable, 50).accepted());
  ASSERT_TRUE(bench.push(4, sheddable, 100).accepted());
  ASSERT_TRUE(bench.push(5, critical, 110).accepted());
  EXPECT_EQ(bench.pop(104), 5);  // Time stands still at 110.
  EXPECT_EQ(bench.log, "3:overdue 4:overdue 1:overdue 2:overdue ");

  Bench shielded({});
  ASSERT_TRUE(shielded.push(1, critical, 0).accepted());
  ASSERT_TRUE(shielded.push(2, critical, 10).accepted());
  ASSERT_TRUE(shielded.push(3, sheddable, 50).accepted());
  ASSERT_TRUE(shielded.push(4, sheddable, 105).accepted());
  ASSERT_TRUE(shielded.push(5, critical, 110).accepted());
  EXPECT_EQ(shielded.pop(110), 5);
  EXPECT_EQ(shielded.log, "3:overdue 1:overdue ");  // 4 waits below 2, which has up to 100 ms.
  EXPECT_EQ(shielded.pop(111), 2);
}

TEST(ShedQueue, AnExpiredRequestIsNeverServed) {  // Invariant (3); trap D3
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 0, 10).accepted());
  ASSERT_TRUE(bench.push(2, critical, 0, 21).accepted());
  ASSERT_TRUE(bench.push(3, critical, 0, 21).accepted());
  EXPECT_EQ(bench.pop(20), 2);  // Exactly the 1 ms that it needs.
  EXPECT_EQ(bench.log, "1:expired ");
  EXPECT_EQ(bench.pop(21), -1);
  EXPECT_EQ(bench.log, "1:expired 3:expired ");
  EXPECT_EQ(bench.queue.depth(), 0U);
  EXPECT_EQ(bench.queue.dropped(critical, ShedReason::expired), 2U);
}

TEST(ShedQueue, WhenAllHaveExpiredAllAreHandedBack) {
  for (const std::int64_t now : {50, 500}) {  // Healthy, and under pressure.
    Bench bench({});
    for (int item = 0; item < 4; ++item) {
      ASSERT_TRUE(bench.push(item, static_cast<Criticality>(item), 0, 20).accepted());
    }
    EXPECT_EQ(bench.pop(now), -1);
    EXPECT_EQ(bench.log, "0:expired 1:expired 2:expired 3:expired ");
  }
}

TEST(ShedQueue, ADeadlineTooCloseIsRefusedAtTheDoor) {  // Invariant (6)
  Bench bench({});
  const auto refused = bench.push(1, critical, 10, 10);
  EXPECT_EQ(refused.verdict, Verdict::deadline_too_close);
  EXPECT_EQ(refused.retry_after, Duration{0});
  EXPECT_EQ(bench.push(1, critical, 10, 11).verdict, Verdict::none);
  EXPECT_EQ(bench.queue.depth(), 1U);
  EXPECT_EQ(bench.queue.dropped(critical, ShedReason::expired), 1U);
}

TEST(ShedQueue, AtTheCapacityARefusalLeavesTheItemAndSaysWhenToComeBack) {  // (1), (6), (7)
  ShedQueue<std::unique_ptr<int>> queue({.capacity = 2});
  for (int i = 0; i < 2; ++i) {
    auto item = std::make_unique<int>(i);
    EXPECT_TRUE(queue.push(std::move(item), critical, kNever, at(0), 0).accepted());
    EXPECT_EQ(item, nullptr);
  }
  for (const Criticality c : {critical, sheddable_plus, sheddable}) {
    auto item = std::make_unique<int>(7);
    const auto refused = queue.push(std::move(item), c, kNever, at(1), 0.25);
    EXPECT_EQ(refused.verdict, Verdict::shed);
    EXPECT_EQ(refused.retry_after, milliseconds(125));  // The interval, and a quarter of it.
    EXPECT_FALSE(refused.evicted);
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(*item, 7);  // NOLINT(bugprone-use-after-move): refused, so still here.
    EXPECT_EQ(queue.dropped(c, ShedReason::full), 1U);
  }
  EXPECT_EQ(queue.depth(), 2U);
}

TEST(ShedQueue, AMoreCriticalArrivalEvictsTheOldestOfTheLowestClass) {  // Invariant (7)
  Bench bench({.capacity = 4});
  ASSERT_TRUE(bench.push(1, sheddable_plus, 0).accepted());
  ASSERT_TRUE(bench.push(2, sheddable, 1).accepted());
  ASSERT_TRUE(bench.push(3, sheddable, 2).accepted());
  ASSERT_TRUE(bench.push(4, critical, 3).accepted());
  std::vector<int> evicted;
  for (int item = 5; item <= 7; ++item) {
    const auto pushed = bench.push(item, critical, 10);
    ASSERT_TRUE(pushed.accepted() && pushed.evicted);
    EXPECT_EQ(pushed.evicted->verdict(), Verdict::shed);
    EXPECT_EQ(pushed.evicted->reason, ShedReason::evicted);
    evicted.push_back(pushed.evicted->item);
  }
  EXPECT_EQ(evicted, (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(bench.push(8, critical, 10).verdict, Verdict::shed);
  const auto last = bench.push(9, critical_plus, 10);
  EXPECT_EQ(last.evicted->item, 4);
  EXPECT_EQ(last.evicted->criticality, critical);
  EXPECT_EQ(last.evicted->waited, milliseconds(7));
  EXPECT_EQ(bench.queue.depth(), 4U);
}

TEST(ShedQueue, AtTheCapacityAnExpiredRequestMakesRoomForAnybody) {
  Bench bench({.capacity = 2});
  ASSERT_TRUE(bench.push(1, critical_plus, 0, 10).accepted());
  ASSERT_TRUE(bench.push(2, sheddable, 0).accepted());
  const auto pushed = bench.push(3, sheddable, 20);
  EXPECT_TRUE(pushed.accepted());
  EXPECT_EQ(pushed.evicted->item, 1);
  EXPECT_EQ(pushed.evicted->verdict(), Verdict::deadline_too_close);
}

TEST(ShedQueue, WhoCountsMoreThanThisQueueMaySayThatItIsFull) {
  Bench bench({.capacity = 10});
  ASSERT_TRUE(bench.push(1, sheddable, 0).accepted());
  const auto refused = bench.queue.push(2, sheddable, kNever, at(1), 0.5, true);
  EXPECT_EQ(refused.verdict, Verdict::shed);
  const auto pushed = bench.queue.push(3, critical, kNever, at(1), 0.5, true);
  EXPECT_TRUE(pushed.accepted());
  EXPECT_EQ(pushed.evicted->item, 1);
  EXPECT_EQ(bench.queue.depth(), 1U);
}

TEST(ShedQueue, WhoCountsMoreThanThisQueueMaySayThatThereIsPressure) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 200).accepted());
  ASSERT_TRUE(bench.push(2, critical, 201).accepted());
  bench.queue.on_busy_since(at(101));
  EXPECT_FALSE(bench.queue.under_pressure(at(201)));
  EXPECT_TRUE(bench.queue.under_pressure(at(202)));
  EXPECT_EQ(bench.pop(202), 2);
  EXPECT_EQ(bench.pop(202), 1);
  ASSERT_TRUE(bench.push(3, critical, 203).accepted());  // It has been empty.
  EXPECT_FALSE(bench.queue.under_pressure(at(203)));
}

TEST(ShedQueue, WithLessReservedItGrowsUpToTheCapacity) {  // Invariant (1)
  ShedQueue<int> queue({.capacity = 11}, 2);
  for (int i = 0; i < 11; ++i) {
    EXPECT_TRUE(queue.push(int{i}, critical, kNever, at(0), 0).accepted());
  }
  EXPECT_FALSE(queue.push(11, critical, kNever, at(0), 0).accepted());
  queue.reload({.capacity = 12});
  EXPECT_TRUE(queue.push(11, critical, kNever, at(0), 0).accepted());
  EXPECT_FALSE(queue.push(12, critical, kNever, at(0), 0).accepted());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(queue.pop(at(1), [](auto&&) {}), i);
}

TEST(ShedQueue, ACapacityOfOneWorks) {
  Bench bench({.capacity = 1});
  EXPECT_TRUE(bench.push(1, sheddable, 0).accepted());
  EXPECT_FALSE(bench.push(2, sheddable, 0).accepted());
  EXPECT_EQ(bench.push(3, critical, 0).evicted->item, 1);
  EXPECT_TRUE(bench.queue.under_pressure(at(101)));  // It was never empty since.
  EXPECT_EQ(bench.push(4, critical_plus, 90).evicted->item, 3);
  EXPECT_TRUE(bench.queue.under_pressure(at(101)));
  EXPECT_EQ(bench.pop(101), 4);
  EXPECT_EQ(bench.pop(101), -1);
  EXPECT_TRUE(bench.push(5, sheddable, 102).accepted());
  EXPECT_FALSE(bench.queue.under_pressure(at(103)));
  EXPECT_EQ(bench.pop(103), 5);
}

TEST(ShedQueue, TimeThatGoesBackwardsStandsStill) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 1000, 1050).accepted());
  ASSERT_TRUE(bench.push(2, critical, 10, 1050).accepted());
  EXPECT_EQ(bench.push(3, critical, 10, 1000).verdict, Verdict::deadline_too_close);
  EXPECT_EQ(bench.queue.oldest_age(at(10)), Duration{0});
  EXPECT_EQ(bench.pop(5), 1);
  EXPECT_EQ(bench.pop(1049), 2);
  EXPECT_EQ(bench.log, "");
}

TEST(ShedQueue, RetryAfterIsTheTimeToServeWhatWaitsJitteredUpwards) {
  const ShedQueueOptions options;
  EXPECT_EQ(retry_after(options, 100, milliseconds(8), 0), milliseconds(800));
  EXPECT_EQ(retry_after(options, 100, milliseconds(8), 0.5), milliseconds(1200));
  EXPECT_LT(retry_after(options, 100, milliseconds(8), kLargestDraw), milliseconds(1600));
  EXPECT_EQ(retry_after(options, 0, milliseconds(8), 0), milliseconds(100));
  EXPECT_EQ(retry_after(options, 1'000'000, kForever, 0), std::chrono::seconds(30));
}

TEST(ShedQueue, TheServiceTimeIsMeasuredBetweenThePopsOfABusyQueue) {
  Bench bench({.capacity = 100});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bench.push(i, critical, 0).accepted());
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(100));
  ASSERT_EQ(bench.pop(10), 0);
  ASSERT_EQ(bench.pop(26), 1);  // 16 / 8 = 2 ms each
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(196));
  ASSERT_EQ(bench.pop(28), 2);  // 2 ms again: the mean stays.
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(194));
  bench.queue.drain(at(26), bench.sink());
  ASSERT_TRUE(bench.push(1, critical, 30).accepted());
  ASSERT_EQ(bench.pop(30), 1);  // Empty since the last pop: not measured.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bench.push(i, critical, 90'000).accepted());
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(200));
  ASSERT_EQ(bench.pop(90'000), 0);
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(198));
}

TEST(ShedQueue, APopThatServesNobodyIsNotMeasured) {
  Bench bench({.capacity = 100});
  ASSERT_TRUE(bench.push(0, critical, 0).accepted());
  ASSERT_TRUE(bench.push(1, critical, 0, 20).accepted());
  ASSERT_EQ(bench.pop(10), 0);
  ASSERT_EQ(bench.pop(50), -1);  // The other one has expired.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(bench.push(i, critical, 60).accepted());
  EXPECT_EQ(bench.queue.retry_after(0), milliseconds(100));  // Nothing is known: the interval.
}

TEST(ShedQueue, TheOldestAgeIsThatOfEachClass) {
  for (const Criticality c : {critical_plus, critical, sheddable_plus, sheddable}) {
    Bench bench({});
    ASSERT_TRUE(bench.push(1, c, 3).accepted());
    EXPECT_EQ(bench.queue.oldest_age(at(9)), milliseconds(6));
  }
}

TEST(ShedQueue, ADrainInThePastWaitedForNoTime) {
  Bench bench({});
  ASSERT_TRUE(bench.push(1, critical, 10).accepted());
  Duration waited{-1};
  bench.queue.drain(at(5), [&](ShedQueue<int>::Dropped&& dropped) { waited = dropped.waited; });
  EXPECT_EQ(waited, Duration{0});
}

TEST(ShedQueueDeathTest, AReloadChecksItsOptions) {
  Bench bench({});
  EXPECT_DEATH(bench.queue.reload({.capacity = 0}), "capacity is 0");
}

TEST(ShedQueue, DrainHandsEverythingBack) {
  Bench bench({});
  for (const int item : {1, 2}) ASSERT_TRUE(bench.push(item, sheddable, 0).accepted());
  ASSERT_TRUE(bench.push(3, critical_plus, 0).accepted());
  bench.queue.drain(at(1), bench.sink());
  EXPECT_EQ(bench.log, "3:drained 1:drained 2:drained ");
  EXPECT_EQ(bench.queue.depth(), 0U);
  EXPECT_EQ(bench.pop(2), -1);
}

TEST(ShedQueue, WhatIsWithdrawnLeavesItsPlaceAndIsNotCounted) {  // Invariant (2)
  Bench bench({.capacity = 3});
  for (const int item : {1, 3}) EXPECT_TRUE(bench.push(item, critical, 0).accepted());
  const auto handle = bench.push(2, critical, 0).handle;
  EXPECT_EQ(bench.queue.withdraw(critical, handle), 2);
  EXPECT_TRUE(bench.push(4, critical, 1).accepted());
  EXPECT_EQ(bench.pop(2), 1);
  EXPECT_EQ(bench.pop(2), 3);
  EXPECT_EQ(bench.pop(2), 4);
  EXPECT_EQ(bench.log, "");
}

// Random pushes and pops against a plain model of who waits. Invariants (1) to (5) and (7).
TEST(ShedQueue, NothingIsLostServedTwiceLateOrOutOfTurn) {
  struct Waits {
    Criticality c;
    std::int64_t arrived, deadline;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const auto upto = [&](int most) { return static_cast<int>(random.draw() * (most + 1)); };
    const int capacity = 1 + upto(30);
    const int busy = upto(10);  // How much more is pushed than popped.
    ShedQueue<int> queue({.capacity = capacity});
    std::map<int, Waits> model;
    std::int64_t now = 0;
    const auto leaves = [&](ShedQueue<int>::Dropped&& dropped) {
      const auto found = model.find(dropped.item);
      ASSERT_NE(found, model.end()) << "seed " << seed;
      ASSERT_EQ(dropped.criticality, found->second.c) << "seed " << seed;
      ASSERT_EQ(dropped.waited, milliseconds(now - found->second.arrived)) << "seed " << seed;
      ASSERT_EQ(dropped.reason == ShedReason::expired, found->second.deadline <= now)
          << "seed " << seed;
      model.erase(found);
    };
    for (int i = 0; i < 400; ++i) {
      now += upto(12);
      if (upto(12) <= 5 + busy / 2) {
        const auto c = static_cast<Criticality>(upto(3));
        const std::int64_t deadline = now + upto(200);
        const bool full = model.size() == static_cast<std::size_t>(capacity);
        auto pushed = queue.push(int{i}, c, at(deadline), at(now), random.draw());
        if (pushed.evicted) {
          ASSERT_TRUE(full && pushed.accepted()) << "seed " << seed;
          ASSERT_TRUE(pushed.evicted->reason == ShedReason::expired ||
                      pushed.evicted->criticality > c)
              << "seed " << seed;
          leaves(std::move(*pushed.evicted));
        }
        if (pushed.accepted()) model[i] = {c, now, deadline};
        ASSERT_EQ(pushed.verdict == Verdict::deadline_too_close, deadline <= now);
      } else {
        const bool pressure = queue.under_pressure(at(now));
        const auto before = model;
        const std::optional<int> served = queue.pop(at(now), leaves);
        bool could = false;
        for (const auto& [item, waits] : before) {
          if (waits.deadline <= now) continue;
          could = true;
          ASSERT_TRUE(!served || waits.c >= before.at(*served).c) << "seed " << seed;
        }
        ASSERT_EQ(served.has_value(), could) << "seed " << seed;
        if (served) {
          ASSERT_GT(before.at(*served).deadline, now) << "seed " << seed;
          ASSERT_EQ(model.erase(*served), 1U) << "seed " << seed;
        }
        ASSERT_TRUE(!pressure || queue.oldest_age(at(now)) <= milliseconds(100)) << "seed " << seed;
      }
      ASSERT_EQ(queue.depth(), model.size()) << "seed " << seed;
      ASSERT_LE(queue.depth(), static_cast<std::size_t>(capacity)) << "seed " << seed;
    }
    queue.drain(at(now), [&](ShedQueue<int>::Dropped&& dropped) {
      ASSERT_EQ(model.erase(dropped.item), 1U) << "seed " << seed;
    });
    ASSERT_TRUE(model.empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::admit
