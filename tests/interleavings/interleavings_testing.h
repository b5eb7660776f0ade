#pragma once

#include <gtest/gtest.h>

#include "tests/interleavings/scheduler.h"

namespace damper::interleavings {

// Every schedule with at most `preemptions` preemptions is sound. The floor is there so that a
// scheduler that runs nothing is noticed.
template <class World>
void expect_sound(int preemptions, std::size_t least_schedules) {
  const Explored explored = Exploration<World>().all(preemptions);
  EXPECT_EQ(explored.fault, "") << "schedule " << explored.schedules;
  EXPECT_GE(explored.schedules, least_schedules) << "of up to " << explored.longest << " steps";
  ::testing::Test::RecordProperty("schedules", static_cast<int>(explored.schedules));
  ::testing::Test::RecordProperty("steps", static_cast<int>(explored.longest));
}

// So are random ones, of more threads.
template <class World>
void expect_sound_at_random(int runs) {
  const Explored explored = Exploration<World>().random(runs);
  EXPECT_EQ(explored.fault, "") << "run " << explored.schedules;
}

}  // namespace damper::interleavings
