#include "damper/lab/world/weather.h"

#include <gtest/gtest.h>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

Scenario with_faults(std::vector<FaultSpec> faults) {
  return world_of({service("web"), service("db")}, {poisson(1)}, std::move(faults));
}

FaultSpec on_replicas(FaultSpec spec, std::vector<std::int32_t> replicas) {
  spec.replicas = std::move(replicas);
  return spec;
}

TEST(Weather, AFaultIsOnBetweenItsTurns) {
  const Scenario scenario = with_faults({fault(FaultKind::down, 1s, 1s)});
  Weather weather(scenario);
  EXPECT_FALSE(weather.any());
  EXPECT_FALSE(weather.is_on(0));
  EXPECT_EQ(weather.find(FaultKind::down, 1, 0), nullptr);
  weather.turn(0, true);
  EXPECT_TRUE(weather.any());
  EXPECT_TRUE(weather.is_on(0));
  EXPECT_EQ(weather.find(FaultKind::down, 1, 0), &scenario.faults[0]);
  EXPECT_EQ(weather.find(FaultKind::down, 0, 0), nullptr);  // Another service,
  EXPECT_EQ(weather.find(FaultKind::slow, 1, 0), nullptr);  // another kind.
  weather.turn(0, true);                                    // Twice is once.
  weather.turn(0, false);
  EXPECT_FALSE(weather.any());
  weather.turn(0, false);
  EXPECT_FALSE(weather.is_on(0));
}

TEST(Weather, AFaultMayBeOnSomeReplicasOnly) {
  const Scenario scenario = with_faults({on_replicas(fault(FaultKind::down, 1s, 1s), {0, 2})});
  Weather weather(scenario);
  weather.turn(0, true);
  EXPECT_NE(weather.find(FaultKind::down, 1, 0), nullptr);
  EXPECT_EQ(weather.find(FaultKind::down, 1, 1), nullptr);
  EXPECT_NE(weather.find(FaultKind::down, 1, 2), nullptr);
}

TEST(Weather, OfTwoOutagesTheFirstInTheScenarioCounts) {
  const Scenario scenario =
      with_faults({fault(FaultKind::down, 5s, 1s), fault(FaultKind::down, 1s, 9s)});
  Weather weather(scenario);
  weather.turn(1, true);
  EXPECT_EQ(weather.find(FaultKind::down, 1, 0), &scenario.faults[1]);
  weather.turn(0, true);  // Later, but the first.
  EXPECT_EQ(weather.find(FaultKind::down, 1, 0), &scenario.faults[0]);
  weather.turn(0, false);
  EXPECT_EQ(weather.find(FaultKind::down, 1, 0), &scenario.faults[1]);
}

TEST(Weather, SlowdownsAndSpikesMultiply) {
  const Scenario scenario = with_faults(
      {fault(FaultKind::slow, 1s, 1s, 2), on_replicas(fault(FaultKind::slow, 1s, 1s, 5), {1}),
       fault(FaultKind::spike, 1s, 1s, 3, "users"), fault(FaultKind::spike, 1s, 1s, 7, "users")});
  Weather weather(scenario);
  EXPECT_EQ(weather.slowness(1, 1), 1);
  EXPECT_EQ(weather.spike(0), 1);
  for (std::size_t i = 0; i < 4; ++i) weather.turn(i, true);
  EXPECT_EQ(weather.slowness(1, 0), 2);
  EXPECT_EQ(weather.slowness(1, 1), 10);
  EXPECT_EQ(weather.slowness(0, 1), 1);
  EXPECT_EQ(weather.spike(0), 21);
  weather.turn(2, false);
  EXPECT_EQ(weather.spike(0), 7);
}

TEST(Weather, OfCapacitiesTheSmallestCounts) {
  const Scenario scenario =
      with_faults({fault(FaultKind::capacity, 1s, 1s, 0.5), fault(FaultKind::capacity, 1s, 1s, 0.2),
                   fault(FaultKind::capacity, 1s, 1s, 0.7)});
  Weather weather(scenario);
  EXPECT_EQ(weather.capacity(1, 0), 1);
  for (std::size_t i = 0; i < 3; ++i) weather.turn(i, true);
  EXPECT_EQ(weather.capacity(1, 0), 0.2);
  EXPECT_EQ(weather.capacity(0, 0), 1);
  weather.turn(1, false);
  EXPECT_EQ(weather.capacity(1, 0), 0.5);
}

TEST(Weather, WhatIsHeldPassesWhenTheLastHoldEnds) {
  const Scenario scenario =
      with_faults({fault(FaultKind::held, 1s, 5s), fault(FaultKind::held, 2s, 2s)});
  Weather weather(scenario);
  const Instant now{3s};
  EXPECT_EQ(weather.passes_at(1, 0, now), now);
  weather.turn(1, true);
  EXPECT_EQ(weather.passes_at(1, 0, now), Instant{4s});
  weather.turn(0, true);
  EXPECT_EQ(weather.passes_at(1, 0, now), Instant{6s});
  EXPECT_EQ(weather.passes_at(0, 0, now), now);
}

TEST(Weather, WhatIsLostNeverPasses) {
  const Scenario scenario =
      with_faults({fault(FaultKind::held, 1s, 5s), fault(FaultKind::lost, 2s, 2s)});
  Weather weather(scenario);
  weather.turn(0, true);
  weather.turn(1, true);
  EXPECT_EQ(weather.passes_at(1, 0, Instant{3s}), kNever);
  EXPECT_EQ(weather.passes_at(0, 0, Instant{3s}), Instant{3s});
}

TEST(Weather, ASlowdownByRequestsIsOverAfterSoMany) {
  FaultSpec first = fault(FaultKind::slow, 0s, 10s, 10);
  first.requests = 2;
  const Scenario scenario = with_faults({first, fault(FaultKind::slow, 0s, 10s, 3)});
  Weather weather(scenario);
  EXPECT_EQ(weather.cost_of_next(1, 0), 1);  // It has not begun.
  weather.turn(0, true);
  weather.turn(1, true);
  EXPECT_EQ(weather.slowness(1, 0), 3);      // It is not for those who begin to be served.
  EXPECT_EQ(weather.cost_of_next(0, 0), 1);  // Another service's do not count.
  EXPECT_EQ(weather.cost_of_next(1, 0), 10);
  EXPECT_TRUE(weather.is_on(0));
  EXPECT_EQ(weather.cost_of_next(1, 0), 10);
  EXPECT_FALSE(weather.is_on(0));
  EXPECT_EQ(weather.cost_of_next(1, 0), 1);
  EXPECT_TRUE(weather.is_on(1));
}

TEST(Weather, AFaultOnNothingIsABug) {
  const Scenario scenario = with_faults({fault(FaultKind::down, 0s, 1s, 1, "nobody")});
  EXPECT_DEATH(Weather{scenario}, "check failed");
}

}  // namespace
}  // namespace damper::lab
