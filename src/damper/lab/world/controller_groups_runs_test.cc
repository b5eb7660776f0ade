#include "damper/lab/world/controller_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using decide::Report;

constexpr Report kWell{};
constexpr Report kFailed{.outcome = Outcome::transient};

// One controller of four objects, whose failed keys run again after exactly 1 s, 2 s, 4 s.
ControllersSpec small() {
  ControllersSpec spec;
  spec.name = "pods";
  spec.calls = "api";
  spec.keys = 4;
  spec.workers = 2;
  spec.events = 10;
  spec.retries.backoff = {.jitter = schedule::Jitter::none, .base = 1s, .cap = 4s};
  spec.retries.max_attempts = 3;
  return spec;
}

const RandomStreams kStreams(7);

Instant at(Duration since_start) { return Instant{since_start}; }

// A run of another object, which succeeds.
void another_succeeds(ControllerGroup& group, Instant now) {
  group.on_event(0, 3, now);
  const auto next = group.next(0, now);
  ASSERT_TRUE(next.run);
  (void)group.finish(*next.run, kWell, now);
}

TEST(ControllerGroup, AnEventIsOneRun) {
  const ControllersSpec spec = small();
  ControllerGroup group(spec, 0, kStreams);
  EXPECT_EQ(group.size(), 1u);
  EXPECT_FALSE(group.next(0, at(1s)).run);
  group.on_event(0, 2, at(1s));
  EXPECT_EQ(group.waiting(), 1u);
  const auto next = group.next(0, at(3s));
  ASSERT_TRUE(next.run);
  EXPECT_EQ(next.run->object, 2u);
  EXPECT_EQ(next.run->attempt, 1u);
  EXPECT_EQ(next.run->waited, 2s);
  EXPECT_EQ(next.run->since, at(1s));
  EXPECT_EQ(next.run->deadline, at(33s));  // The default timeout.
  EXPECT_EQ(group.waiting(), 0u);
  EXPECT_EQ(group.running(), 1u);
  EXPECT_EQ(group.finish(*next.run, kWell, at(4s)), 3s);  // From the event on.
  EXPECT_EQ(group.running(), 0u);
  EXPECT_TRUE(group.is_balanced(at(4s)));
  EXPECT_FALSE(group.next(0, at(4s)).run);
}

TEST(ControllerGroup, NoMoreRunThanThereAreWorkers) {  // Invariant 2.
  const ControllersSpec spec = small();
  ControllerGroup group(spec, 0, kStreams);
  for (std::uint32_t object = 0; object < 4; ++object) group.on_event(0, object, at(1s));
  const auto first = group.next(0, at(1s));
  const auto second = group.next(0, at(1s));
  ASSERT_TRUE(first.run && second.run);
  const auto third = group.next(0, at(1s));
  EXPECT_FALSE(third.run);
  EXPECT_EQ(third.wake, kNever);  // The end of a run is what it waits for.
  EXPECT_EQ(group.waiting(), 2u);
  EXPECT_EQ(group.finish(*first.run, kWell, at(2s)), 1s);
  EXPECT_EQ(group.next(0, at(2s)).run->object, 2u);
}

TEST(ControllerGroup, EventsWhileAKeyIsUnderWayAreOneMoreRunAndEachItsOwnWithoutCoalescing) {
  for (const bool coalesce : {true, false}) {
    ControllersSpec spec = small();
    spec.coalesce = coalesce;
    spec.workers = 1;
    ControllerGroup group(spec, 0, kStreams);
    group.on_event(0, 1, at(1s));
    auto next = group.next(0, at(1s));
    for (int i = 0; i < 3; ++i) group.on_event(0, 1, at(2s));
    int runs = 0;
    std::set<std::uint64_t> numbers;
    for (; next.run; next = group.next(0, at(3s)), ++runs) {
      EXPECT_EQ(next.run->object, 1u);
      numbers.insert(next.run->number);
      (void)group.finish(*next.run, kWell, at(3s));
    }
    EXPECT_EQ(runs, coalesce ? 2 : 4);
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(runs));
    EXPECT_TRUE(group.is_balanced(at(3s)));
  }
}

TEST(ControllerGroup, AnObjectThatFailedSettlesWithTheFirstRunThatSucceeds) {
  const ControllersSpec spec = small();
  ControllerGroup group(spec, 0, kStreams);
  group.on_event(0, 0, at(1s));
  auto run = *group.next(0, at(1s)).run;
  EXPECT_EQ(group.finish(run, kFailed, at(2s)), std::nullopt);
  EXPECT_EQ(group.failing(), 1u);
  EXPECT_EQ(group.waiting(), 1u);
  auto next = group.next(0, at(2s));
  EXPECT_FALSE(next.run);
  EXPECT_EQ(next.wake, at(3s));  // Its backoff, as the queue says.
  run = *group.next(0, at(3s)).run;
  EXPECT_EQ(run.attempt, 2u);
  EXPECT_TRUE(run.is_retry());
  EXPECT_EQ(run.since, at(1s));
  EXPECT_EQ(group.failing(), 0u);  // It is tried again.
  EXPECT_EQ(group.finish(run, kWell, at(5s)), 4s);
  EXPECT_EQ(group.failing(), 0u);
  group.on_event(0, 0, at(5s));
  run = *group.next(0, at(5s)).run;
  EXPECT_FALSE(run.is_retry());
  EXPECT_EQ(group.failing(), 0u);
  EXPECT_EQ(group.finish(run, kWell, at(5s)), 0s);
  EXPECT_TRUE(group.is_balanced(at(5s)));
}

TEST(ControllerGroup, AKeyThatWasGivenUpIsParkedUntilItsNextEvent) {
  const ControllersSpec spec = small();
  ControllerGroup group(spec, 0, kStreams);
  group.on_event(0, 0, at(1s));
  for (const Duration now : {1s, 10s, 20s}) {
    const auto next = group.next(0, at(now));
    ASSERT_TRUE(next.run);
    (void)group.finish(*next.run, kFailed, at(now));
    if (now != 20s) another_succeeds(group, at(now));
  }
  EXPECT_EQ(group.parked(), 1u);
  EXPECT_EQ(group.waiting(), 0u);
  EXPECT_EQ(group.failing(), 0u);
  EXPECT_TRUE(group.is_balanced(at(20s)));
  EXPECT_FALSE(group.next(0, at(100s)).run);
  group.on_event(0, 0, at(101s));
  EXPECT_EQ(group.parked(), 0u);
  const auto run = *group.next(0, at(101s)).run;
  EXPECT_EQ(run.attempt, 1u);
  EXPECT_EQ(group.finish(run, kWell, at(101s)), 100s);  // From the first event on.
  EXPECT_TRUE(group.is_balanced(at(101s)));
}

// It starts anew then, and is a failed one no more.
TEST(ControllerGroup, AKeyThatHadAnEventDuringItsLastAttemptIsNotParked) {
  const ControllersSpec spec = small();
  ControllerGroup group(spec, 0, kStreams);
  group.on_event(0, 0, at(1s));
  for (const Duration now : {1s, 10s, 20s}) {
    const auto next = group.next(0, at(now));
    ASSERT_TRUE(next.run);
    if (now == 20s) group.on_event(0, 0, at(now));
    (void)group.finish(*next.run, kFailed, at(now));
    if (now != 20s) another_succeeds(group, at(now));
  }
  EXPECT_EQ(group.parked(), 0u);
  EXPECT_EQ(group.waiting(), 1u);
  const auto run = *group.next(0, at(20s)).run;
  EXPECT_EQ(run.attempt, 1u);
  EXPECT_EQ(group.failing(), 0u);
  (void)group.finish(run, kWell, at(20s));
  EXPECT_EQ(group.failing(), 0u);
  EXPECT_TRUE(group.is_balanced(at(20s)));
}

TEST(ControllerGroup, BrokenKeysAreTheLastOnesAndDoNotCountAsFailing) {
  ControllersSpec spec = small();
  spec.broken_keys = 1;
  ControllerGroup group(spec, 0, kStreams);
  group.on_event(0, 2, at(1s));
  group.on_event(0, 3, at(1s));
  EXPECT_FALSE(group.next(0, at(1s)).run->is_broken);
  const auto run = *group.next(0, at(1s)).run;
  EXPECT_TRUE(run.is_broken);
  (void)group.finish(run, kFailed, at(1s));
  EXPECT_EQ(group.failing(), 0u);
  EXPECT_EQ(group.waiting(), 1u);
}

// How often each object has an event, of 10,000.
std::vector<int> events_of(const ControllersSpec& spec) {
  ControllerGroup group(spec, 0, kStreams);
  std::vector<int> events(static_cast<std::size_t>(spec.keys));
  for (int i = 0; i < 10'000; ++i) ++events[group.next_object(0)];
  return events;
}

TEST(ControllerGroup, HotKeysHaveTheirShareOfTheEvents) {
  ControllersSpec spec = small();
  for (const int events : events_of(spec)) EXPECT_NEAR(events, 2500, 150);
  spec.hot_keys = 1;
  spec.hot_share = 0.7;
  std::vector<int> events = events_of(spec);
  EXPECT_NEAR(events[0], 7000, 150);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(events[i], 1000, 100);
  spec.hot_keys = 4;  // All are: the rest of the events is theirs as well.
  for (const int each : events_of(spec)) EXPECT_NEAR(each, 2500, 150);
}

TEST(ControllerGroup, EventsComeAtTheirRateAndTheSameUnderEveryPolicy) {  // Invariant 1.
  ControllersSpec spec = small();
  ControllersSpec other = small();
  other.retries = {};
  other.coalesce = false;
  spec.count = other.count = 2;
  ControllerGroup group(spec, 0, kStreams);
  ControllerGroup under_another(other, 0, kStreams);
  ControllerGroup another_group(spec, 1, kStreams);
  Instant now{};
  for (int i = 0; i < 1000; ++i) {
    const Instant next = group.next_event(0, now);
    ASSERT_EQ(under_another.next_event(0, now), next);
    ASSERT_EQ(group.next_object(0), under_another.next_object(0));
    ASSERT_NE(another_group.next_event(0, now), next);
    ASSERT_NE(group.next_event(1, now), next);
    now = next;
  }
  EXPECT_NEAR(static_cast<double>(now.time_since_epoch().count()) / 1e9, 100, 10);
  spec.events = 0;
  EXPECT_EQ(ControllerGroup(spec, 0, kStreams).next_event(0, now), kNever);
}

TEST(ControllerGroup, ControllersResyncOutOfStep) {
  ControllersSpec spec = small();
  EXPECT_EQ(ControllerGroup(spec, 0, kStreams).first_resync(0), kNever);
  spec.resync = 10s;
  spec.count = 100;
  const ControllerGroup group(spec, 0, kStreams);
  std::set<Instant> times;
  for (std::uint32_t i = 0; i < 100; ++i) times.insert(group.first_resync(i));
  EXPECT_EQ(times.size(), 100u);
  EXPECT_LT(*times.begin(), at(1s));
  EXPECT_GT(*times.rbegin(), at(9s));
  EXPECT_LT(*times.rbegin(), at(10s));
}

TEST(ControllerGroup, TheRateIsTheQueues) {
  ControllersSpec spec = small();
  spec.rate_limit = 2;
  spec.burst = 1;
  ControllerGroup group(spec, 0, kStreams);
  group.on_event(0, 0, at(1s));
  group.on_event(0, 1, at(1s));
  ASSERT_TRUE(group.next(0, at(1s)).run);
  const auto next = group.next(0, at(1s));
  EXPECT_FALSE(next.run);
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(between(at(1s), next.wake)), 500ms);
  EXPECT_TRUE(group.next(0, next.wake).run);
}

TEST(ControllerGroup, TheBudgetIsTheMeanOfTheControllers) {
  ControllersSpec spec = small();
  spec.retries.budget = {.percent = Percent(0), .reserve = 4, .min_per_second = 0};
  spec.count = 2;
  ControllerGroup group(spec, 0, kStreams);
  EXPECT_EQ(group.budget(at(1s)), 4);
  group.on_event(0, 0, at(1s));
  (void)group.finish(*group.next(0, at(1s)).run, kFailed, at(1s));
  ASSERT_TRUE(group.next(0, at(2s)).run);  // A retry.
  EXPECT_EQ(group.budget(at(2s)), 3.5);
}

}  // namespace
}  // namespace damper::lab
