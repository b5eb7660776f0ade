#include "damper/lab/world/active_faults.h"

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

TEST(ActiveFaults, AFaultIsOnBetweenItsTurns) {
  const Scenario scenario = with_faults({fault(FaultKind::down, 1s, 1s)});
  ActiveFaults faults(scenario);
  EXPECT_FALSE(faults.any());
  EXPECT_FALSE(faults.is_on(0));
  EXPECT_EQ(faults.find(FaultKind::down, 1, 0), nullptr);
  faults.turn(0, true);
  EXPECT_TRUE(faults.any());
  EXPECT_TRUE(faults.is_on(0));
  EXPECT_EQ(faults.find(FaultKind::down, 1, 0), &scenario.faults[0]);
  EXPECT_EQ(faults.find(FaultKind::down, 0, 0), nullptr);  // Another service,
  EXPECT_EQ(faults.find(FaultKind::slow, 1, 0), nullptr);  // another kind.
  faults.turn(0, true);                                    // Twice is once.
  faults.turn(0, false);
  EXPECT_FALSE(faults.any());
  faults.turn(0, false);
  EXPECT_FALSE(faults.is_on(0));
}

TEST(ActiveFaults, AFaultMayBeOnSomeReplicasOnly) {
  const Scenario scenario = with_faults({on_replicas(fault(FaultKind::down, 1s, 1s), {0, 2})});
  ActiveFaults faults(scenario);
  faults.turn(0, true);
  EXPECT_NE(faults.find(FaultKind::down, 1, 0), nullptr);
  EXPECT_EQ(faults.find(FaultKind::down, 1, 1), nullptr);
  EXPECT_NE(faults.find(FaultKind::down, 1, 2), nullptr);
}

TEST(ActiveFaults, OfTwoOutagesTheFirstInTheScenarioCounts) {
  const Scenario scenario =
      with_faults({fault(FaultKind::down, 5s, 1s), fault(FaultKind::down, 1s, 9s)});
  ActiveFaults faults(scenario);
  faults.turn(1, true);
  EXPECT_EQ(faults.find(FaultKind::down, 1, 0), &scenario.faults[1]);
  faults.turn(0, true);  // Later, but the first.
  EXPECT_EQ(faults.find(FaultKind::down, 1, 0), &scenario.faults[0]);
  faults.turn(0, false);
  EXPECT_EQ(faults.find(FaultKind::down, 1, 0), &scenario.faults[1]);
}

TEST(ActiveFaults, SlowdownsAndSpikesMultiply) {
  const Scenario scenario = with_faults(
      {fault(FaultKind::slow, 1s, 1s, 2), on_replicas(fault(FaultKind::slow, 1s, 1s, 5), {1}),
       fault(FaultKind::spike, 1s, 1s, 3, "users"), fault(FaultKind::spike, 1s, 1s, 7, "users")});
  ActiveFaults faults(scenario);
  EXPECT_EQ(faults.slowness(1, 1), 1);
  EXPECT_EQ(faults.spike(0), 1);
  for (std::size_t i = 0; i < 4; ++i) faults.turn(i, true);
  EXPECT_EQ(faults.slowness(1, 0), 2);
  EXPECT_EQ(faults.slowness(1, 1), 10);
  EXPECT_EQ(faults.slowness(0, 1), 1);
  EXPECT_EQ(faults.spike(0), 21);
  faults.turn(2, false);
  EXPECT_EQ(faults.spike(0), 7);
}

TEST(ActiveFaults, OfCapacitiesTheSmallestCounts) {
  const Scenario scenario =
      with_faults({fault(FaultKind::capacity, 1s, 1s, 0.5), fault(FaultKind::capacity, 1s, 1s, 0.2),
                   fault(FaultKind::capacity, 1s, 1s, 0.7)});
  ActiveFaults faults(scenario);
  EXPECT_EQ(faults.capacity(1, 0), 1);
  for (std::size_t i = 0; i < 3; ++i) faults.turn(i, true);
  EXPECT_EQ(faults.capacity(1, 0), 0.2);
  EXPECT_EQ(faults.capacity(0, 0), 1);
  faults.turn(1, false);
  EXPECT_EQ(faults.capacity(1, 0), 0.5);
}

TEST(ActiveFaults, WhatIsHeldPassesWhenTheLastHoldEnds) {
  const Scenario scenario =
      with_faults({fault(FaultKind::held, 1s, 5s), fault(FaultKind::held, 2s, 2s)});
  ActiveFaults faults(scenario);
  const Instant now{3s};
  EXPECT_EQ(faults.passes_at(1, 0, now), now);
  faults.turn(1, true);
  EXPECT_EQ(faults.passes_at(1, 0, now), Instant{4s});
  faults.turn(0, true);
  EXPECT_EQ(faults.passes_at(1, 0, now), Instant{6s});
  EXPECT_EQ(faults.passes_at(0, 0, now), now);
}

TEST(ActiveFaults, WhatIsLostNeverPasses) {
  const Scenario scenario =
      with_faults({fault(FaultKind::held, 1s, 5s), fault(FaultKind::lost, 2s, 2s)});
  ActiveFaults faults(scenario);
  faults.turn(0, true);
  faults.turn(1, true);
  EXPECT_EQ(faults.passes_at(1, 0, Instant{3s}), kNever);
  EXPECT_EQ(faults.passes_at(0, 0, Instant{3s}), Instant{3s});
}

TEST(ActiveFaults, ASlowdownByRequestsIsOverAfterSoMany) {
  FaultSpec first = fault(FaultKind::slow, 0s, 10s, 10);
  first.requests = 2;
  const Scenario scenario = with_faults({first, fault(FaultKind::slow, 0s, 10s, 3)});
  ActiveFaults faults(scenario);
  EXPECT_EQ(faults.cost_of_next(1, 0), 1);  // It has not begun.
  faults.turn(0, true);
  faults.turn(1, true);
  EXPECT_EQ(faults.slowness(1, 0), 3);      // It is not for those who begin to be served.
  EXPECT_EQ(faults.cost_of_next(0, 0), 1);  // Another service's do not count.
  EXPECT_EQ(faults.cost_of_next(1, 0), 10);
  EXPECT_TRUE(faults.is_on(0));
  EXPECT_EQ(faults.cost_of_next(1, 0), 10);
  EXPECT_FALSE(faults.is_on(0));
  EXPECT_EQ(faults.cost_of_next(1, 0), 1);
  EXPECT_TRUE(faults.is_on(1));
}

TEST(ActiveFaults, AFaultOnNothingIsABug) {
  const Scenario scenario = with_faults({fault(FaultKind::down, 0s, 1s, 1, "nobody")});
  EXPECT_DEATH(ActiveFaults{scenario}, "check failed");
}

}  // namespace
}  // namespace damper::lab
