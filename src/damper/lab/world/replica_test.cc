#include "damper/lab/world/replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "damper/base/random.h"
#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

Handle who(std::uint32_t number) { return {number, 1}; }

TEST(WaitLine, ServesFromBothEnds) {
  WaitLine line;
  for (std::uint32_t i = 1; i <= 4; ++i) (void)line.push(who(i));
  EXPECT_EQ(line.size(), 4u);
  EXPECT_EQ(line.pop_oldest(), who(1));
  EXPECT_EQ(line.pop_newest(), who(4));
  EXPECT_EQ(line.pop_oldest(), who(2));
  EXPECT_FALSE(line.empty());
  EXPECT_EQ(line.pop_newest(), who(3));
  EXPECT_TRUE(line.empty());
}

TEST(WaitLine, AnybodyMayLeaveFromAnywhere) {
  WaitLine line;
  const auto first = line.push(who(1));
  const auto middle = line.push(who(2));
  (void)line.push(who(3));
  const auto last = line.push(who(4));
  EXPECT_EQ(line.leave(middle), who(2));
  EXPECT_EQ(line.leave(first), who(1));
  EXPECT_EQ(line.leave(last), who(4));
  EXPECT_EQ(line.size(), 1u);
  EXPECT_EQ(line.pop_oldest(), who(3));
}

TEST(WaitLine, NobodyLeavesTwiceNorFromAnEmptyLine) {
  WaitLine line;
  const auto place = line.push(who(1));
  (void)line.leave(place);
  EXPECT_DEATH((void)line.leave(place), "check failed");
  EXPECT_DEATH((void)line.pop_oldest(), "check failed");
  EXPECT_DEATH((void)line.pop_newest(), "check failed");
}

TEST(WaitLine, PlacesAreUsedAgain) {
  WaitLine line;
  (void)line.push(who(0));
  for (std::uint32_t i = 1; i < 10'000; ++i) {
    ASSERT_LE(line.push(who(i)), 2u);  // Two wait at once, at the most.
    ASSERT_EQ(line.pop_oldest(), who(i - 1));
  }
}

TEST(WaitLine, KeepsTheOrderWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    WaitLine line;
    std::vector<std::pair<WaitLine::Slot, Handle>> model;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const double what = random.draw();
      if (model.empty() || what < 0.5) {
        model.emplace_back(line.push(who(i)), who(i));
      } else if (what < 0.65) {
        ASSERT_EQ(line.pop_oldest(), model.front().second);
        model.erase(model.begin());
      } else if (what < 0.8) {
        ASSERT_EQ(line.pop_newest(), model.back().second);
        model.pop_back();
      } else {
        const auto at = static_cast<std::ptrdiff_t>(random.bits() % model.size());
        ASSERT_EQ(line.leave(model[static_cast<std::size_t>(at)].first),
                  model[static_cast<std::size_t>(at)].second);
        model.erase(model.begin() + at);
      }
      ASSERT_EQ(line.size(), model.size());
    }
  }
}

using namespace std::chrono_literals;
using Entry = Replica::Entry;

constexpr auto kNormal = admit::Criticality::critical;
constexpr auto kLow = admit::Criticality::sheddable;

Handle request(std::uint32_t number) { return {number, 1}; }
Instant at(Duration time) { return Instant{time}; }

ServiceSpec server(std::int32_t workers, std::int32_t bound, Discipline queue = Discipline::fifo) {
  ServiceSpec spec = service("db", {}, workers);
  spec.queue = queue;
  spec.queue_bound = bound;
  return spec;
}

Replica::Admission arrive(Replica& replica, std::uint32_t number, Duration now = 0s,
                          admit::Criticality criticality = kNormal, Instant deadline = kNever) {
  return replica.on_arrival(request(number), criticality, deadline, at(now), 0.5);
}

TEST(Replica, WorksThenQueuesThenRefuses) {  // Invariants 1 and 2.
  const ServiceSpec spec = server(2, 3);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(arrive(replica, i).entry, Entry::works);
  EXPECT_FALSE(replica.has_free_worker());
  for (std::uint32_t i = 2; i < 5; ++i) EXPECT_EQ(arrive(replica, i).entry, Entry::waits);
  const auto refused = arrive(replica, 5);
  EXPECT_EQ(refused.entry, Entry::refused);
  EXPECT_EQ(refused.retry_after, decide::Report::kUnsaid);
  EXPECT_EQ(replica.working(), 2u);
  EXPECT_EQ(replica.queued(), 3u);
  EXPECT_EQ(replica.take(at(1s)), std::nullopt);  // Nobody is free.
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(replica.take(at(1s)), request(2));
  EXPECT_EQ(replica.working(), 2u);
  EXPECT_EQ(replica.queued(), 2u);
  EXPECT_EQ(arrive(replica, 6).entry, Entry::waits);  // There is room again.
}

TEST(Replica, WithoutAQueueAllBeyondTheWorkersAreRefused) {
  const ServiceSpec spec = server(1, 0);
  Replica replica(spec);
  EXPECT_EQ(arrive(replica, 0).entry, Entry::works);
  EXPECT_EQ(arrive(replica, 1).entry, Entry::refused);
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(arrive(replica, 2).entry, Entry::works);
}

TEST(Replica, WithoutABoundOnWorkersEverybodyIsWorkedOn) {
  const ServiceSpec spec = server(0, 0);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(arrive(replica, i).entry, Entry::works);
}

TEST(Replica, TheDisciplineSaysWhoIsNext) {
  for (const auto discipline : {Discipline::fifo, Discipline::lifo, Discipline::shed}) {
    const ServiceSpec spec = server(1, 10, discipline);
    Replica replica(spec);
    for (std::uint32_t i = 0; i < 4; ++i) (void)arrive(replica, i);
    replica.on_done(at(0s), at(1ms));
    const bool newest = discipline == Discipline::lifo;
    EXPECT_EQ(replica.take(at(1ms)), request(newest ? 3 : 1));
    replica.on_done(at(0s), at(2ms));
    EXPECT_EQ(replica.take(at(2ms)), request(2));
  }
}

TEST(Replica, OneThatWasDoneDoesNotLetANewcomerPassTheLine) {
  const ServiceSpec spec = server(1, 10);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 2; ++i) (void)arrive(replica, i);
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(arrive(replica, 2).entry, Entry::waits);  // Though a worker is free.
  EXPECT_EQ(replica.take(at(1s)), request(1));
}

TEST(Replica, WithAHandoverTheNewcomerGetsTheWorker) {
  ServiceSpec spec = server(1, 10);
  spec.handover = 1ms;
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 2; ++i) (void)arrive(replica, i);
  replica.on_done(at(0s), at(1s));
  EXPECT_TRUE(replica.has_line());
  EXPECT_EQ(arrive(replica, 2).entry, Entry::works);
  EXPECT_EQ(replica.take(at(1001ms)), std::nullopt);
  EXPECT_EQ(replica.queued(), 1u);
}

TEST(Replica, OneThatWasWithdrawnIsNeverTaken) {
  for (const auto discipline : {Discipline::fifo, Discipline::lifo}) {
    const ServiceSpec spec = server(1, 2, discipline);
    Replica replica(spec);
    (void)arrive(replica, 0);
    const auto first = arrive(replica, 1);
    (void)arrive(replica, 2);
    replica.on_withdrawn(first.slot);
    EXPECT_EQ(replica.queued(), 1u);
    EXPECT_EQ(arrive(replica, 3).entry, Entry::waits);  // It has made room.
    replica.on_done(at(0s), at(1s));
    EXPECT_EQ(replica.take(at(1s)), request(discipline == Discipline::fifo ? 2 : 3));
  }
}

TEST(Replica, AShedQueueKeepsTheWithdrawnUntilItsTurn) {
  const ServiceSpec spec = server(1, 10, Discipline::shed);
  Replica replica(spec);
  (void)arrive(replica, 0);
  replica.on_withdrawn(arrive(replica, 1).slot);
  EXPECT_EQ(replica.queued(), 0u);
  EXPECT_TRUE(replica.has_line());
  replica.on_done(at(0s), at(1ms));
  EXPECT_EQ(replica.take(at(1ms)), request(1));
  replica.on_withdrawn_taken();
  EXPECT_FALSE(replica.has_line());
  EXPECT_EQ(replica.working(), 0u);
  EXPECT_EQ(replica.queued(), 0u);
}

TEST(Replica, AShedQueueMakesRoomForTheMoreCritical) {
  const ServiceSpec spec = server(1, 2, Discipline::shed);
  Replica replica(spec);
  (void)arrive(replica, 0);
  (void)arrive(replica, 1, 0s, kLow);
  (void)arrive(replica, 2, 0s, kLow);
  EXPECT_TRUE(replica.dropped().empty());
  EXPECT_EQ(arrive(replica, 3).entry, Entry::waits);
  ASSERT_EQ(replica.dropped().size(), 1u);
  EXPECT_EQ(replica.dropped()[0], request(1));
  const auto refused = arrive(replica, 4, 0s, kLow);
  EXPECT_EQ(refused.entry, Entry::refused);
  EXPECT_GE(refused.retry_after, spec.shed.interval);  // It is told when to come back.
  EXPECT_TRUE(replica.dropped().empty());
}

TEST(Replica, OneThatIsTooLateForAShedQueueIsNotToldToComeBack) {
  const ServiceSpec spec = server(1, 2, Discipline::shed);
  Replica replica(spec);
  (void)arrive(replica, 0);
  const auto late = arrive(replica, 1, 1s, kNormal, at(1s));
  EXPECT_EQ(late.entry, Entry::refused);
  EXPECT_EQ(late.retry_after, decide::Report::kUnsaid);
}

TEST(Replica, UnderPressureAShedQueueDropsTheOverdue) {
  const ServiceSpec spec = server(1, 10, Discipline::shed);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 4; ++i) (void)arrive(replica, i);
  replica.on_done(at(0s), at(200ms));
  EXPECT_EQ(replica.take(at(200ms)), request(3));  // The newest.
  EXPECT_EQ(replica.dropped().size(), 2u);
  EXPECT_EQ(replica.queued(), 0u);
  replica.on_done(at(0s), at(201ms));
  EXPECT_EQ(replica.take(at(201ms)), std::nullopt);
  EXPECT_TRUE(replica.dropped().empty());
}

TEST(Replica, ACutTakesWorkersAwayAndGivesThemBack) {
  const ServiceSpec spec = server(10, 100);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 6; ++i) (void)arrive(replica, i);
  replica.set_capacity(0.5);
  EXPECT_EQ(replica.working(), 6u);  // What has begun goes on.
  EXPECT_EQ(arrive(replica, 6).entry, Entry::waits);
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(replica.take(at(1s)), std::nullopt);  // Five of five.
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(replica.take(at(1s)), request(6));
  replica.set_capacity(0);
  for (std::uint32_t i = 0; i < 5; ++i) replica.on_done(at(0s), at(2s));
  EXPECT_FALSE(replica.has_free_worker());
  EXPECT_EQ(arrive(replica, 7).entry, Entry::waits);
  replica.set_capacity(1);
  EXPECT_EQ(replica.take(at(3s)), request(7));
}

TEST(Replica, AShareOfTheWorkersIsRoundedUpButNotForAnErrorInTheLastPlace) {
  const ServiceSpec spec = server(10, 100);
  const auto workers = [&spec](double share) {
    Replica replica(spec);
    replica.set_capacity(share);
    std::uint32_t count = 0;
    while (arrive(replica, count).entry == Entry::works) ++count;
    return count;
  };
  EXPECT_EQ(workers(0.01), 1u);
  EXPECT_EQ(workers(0.3), 3u);
  EXPECT_EQ(workers(0.1 + 0.2), 3u);  // 0.30000000000000004
  EXPECT_EQ(workers(0.31), 4u);
  EXPECT_EQ(workers(0), 0u);
}

ServiceSpec limited(Discipline queue, std::int32_t limit) {
  ServiceSpec spec = server(1, 2, queue);
  spec.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::fixed, .initial = limit};
  return spec;
}

TEST(Replica, TheLimitCountsWhoWorksAndWhoWaits) {
  const ServiceSpec spec = limited(Discipline::fifo, 2);
  Replica replica(spec);
  EXPECT_EQ(replica.limit(), 2);
  EXPECT_EQ(arrive(replica, 0).entry, Entry::works);
  EXPECT_EQ(arrive(replica, 1).entry, Entry::waits);
  EXPECT_EQ(arrive(replica, 2).entry, Entry::refused);
  EXPECT_TRUE(replica.is_balanced());
  replica.on_done(at(0s), at(1s));
  EXPECT_EQ(arrive(replica, 3).entry, Entry::waits);
}

// Invariant 3: whatever way a request takes, its place in the limit is given back once.
TEST(Replica, EveryWayOutGivesThePlaceInTheLimitBack) {
  for (const auto discipline : {Discipline::fifo, Discipline::lifo, Discipline::shed}) {
    SCOPED_TRACE(kDisciplineNames[static_cast<std::size_t>(discipline)]);
    const ServiceSpec spec = limited(discipline, 100);
    Replica replica(spec);
    (void)arrive(replica, 0, 0s, kLow);
    const auto withdrawn = arrive(replica, 1, 0s, kLow);
    (void)arrive(replica, 2, 0s, kLow);
    EXPECT_EQ(arrive(replica, 3, 0s, kLow).entry, Entry::refused);
    EXPECT_TRUE(replica.is_balanced());
    replica.on_withdrawn(withdrawn.slot);
    EXPECT_TRUE(replica.is_balanced());
    (void)arrive(replica, 4);
    for (const Handle dropped : replica.dropped()) replica.on_dropped(dropped == request(1));
    EXPECT_TRUE(replica.is_balanced());
    replica.on_abandoned();
    EXPECT_TRUE(replica.is_balanced());
    while (const auto taken = replica.take(at(1ms))) {
      EXPECT_TRUE(replica.is_balanced() || *taken == request(1));
      if (*taken == request(1)) {
        replica.on_withdrawn_taken();
      } else {
        replica.on_done(at(0s), at(1ms));
      }
    }
    EXPECT_TRUE(replica.is_balanced());
    EXPECT_EQ(replica.working() + replica.queued(), 0u);
  }
}

TEST(Replica, OneThatIsEvictedGivesItsPlaceInTheLimitBack) {
  const ServiceSpec spec = limited(Discipline::shed, 100);
  Replica replica(spec);
  for (std::uint32_t i = 0; i < 3; ++i) (void)arrive(replica, i, 0s, kLow);
  (void)arrive(replica, 3);
  ASSERT_EQ(replica.dropped().size(), 1u);
  EXPECT_FALSE(replica.is_balanced());
  replica.on_dropped(false);
  EXPECT_TRUE(replica.is_balanced());
}

// Invariant 4: one that was given up at once would otherwise look like a very quick answer.
TEST(Replica, TheLimitDoesNotLearnFromWhatWasAbandoned) {
  const auto after = [](bool abandoned) {
    ServiceSpec spec = server(0, 0);
    spec.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::gradient};
    Replica replica(spec);
    Duration now = 0s;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      while (arrive(replica, i, now).entry == Entry::works) {
      }
      now += 10ms;
      while (replica.working() > 0) {
        if (abandoned) {
          replica.on_abandoned();
        } else {
          replica.on_done(at(now - 10ms), at(now));
        }
      }
    }
    return replica.limit();
  };
  ServiceSpec spec = server(0, 0);
  spec.limit = admit::ConcurrencyLimitOptions{.kind = admit::LimitKind::gradient};
  const std::int32_t initial = Replica(spec).limit();
  EXPECT_EQ(after(true), initial);
  EXPECT_NE(after(false), initial);
}

TEST(Replica, NobodyIsDoneWhoDoesNotWork) {
  const ServiceSpec spec = server(1, 1, Discipline::shed);
  Replica replica(spec);
  EXPECT_DEATH(replica.on_done(at(0s), at(0s)), "check failed");
  EXPECT_DEATH(replica.on_abandoned(), "check failed");
  EXPECT_DEATH(replica.on_withdrawn_taken(), "check failed");
  EXPECT_DEATH(replica.on_dropped(true), "check failed");
}

}  // namespace

}  // namespace damper::lab
