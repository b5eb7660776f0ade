#include "damper/queue/controller/controller_options.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

TEST(ControllerOptions, ABadOptionIsNamedWithItsValueAndBound) {
  EXPECT_EQ(find_error(ControllerOptions{}), std::nullopt);
  EXPECT_EQ(find_error(ControllerOptions{.workers = 1000}), std::nullopt);
  EXPECT_EQ(find_error(ControllerOptions{.workers = 0}), "workers is 0; it must be from 1 to 1000");
  EXPECT_EQ(find_error(ControllerOptions{.workers = 1001}),
            "workers is 1001; it must be from 1 to 1000");
  EXPECT_EQ(find_error(ControllerOptions{.queue = {.capacity = 0}}),
            "queue.capacity is 0; it must be from 1 to 50000000");
  EXPECT_EQ(find_error(ControllerOptions{.retries = {.max_attempts = -1}}),
            "retries.max_attempts is -1; it must be from 0 to 1000000");
}

TEST(ControllerOptions, ReachTheCore) {
  const auto core = queue::core_options(
      {.queue = {.capacity = 7}, .retries = {.max_attempts = 3}, .most_parked = 5});
  EXPECT_EQ(core.queue.capacity, 7u);
  EXPECT_EQ(core.retries.max_attempts, 3);
  EXPECT_EQ(core.most_parked, 5u);
}

}  // namespace
}  // namespace damper
