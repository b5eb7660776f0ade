#include "damper/queue/work_queue/work_queue_options.h"

#include <gtest/gtest.h>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

TEST(WorkQueueOptions, TheDefaultsAreGood) { EXPECT_EQ(find_error({}), std::nullopt); }

TEST(WorkQueueOptions, ABadOptionIsNamedWithItsValueAndBound) {
  EXPECT_EQ(find_error({.capacity = 0}), "capacity is 0; it must be from 1 to 50000000");
  EXPECT_EQ(find_error({.capacity = 1}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 50'000'000}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 50'000'001}),
            "capacity is 50000001; it must be from 1 to 50000000");

  EXPECT_EQ(find_error({.capacity = 10, .group_capacity = 10}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 10, .group_capacity = 11}),
            "group_capacity is 11; it must be from 0 to 10");

  EXPECT_EQ(find_error({.ageing = 0ns}), std::nullopt);
  EXPECT_EQ(find_error({.ageing = 24h}), std::nullopt);
  EXPECT_EQ(find_error({.ageing = -1ns}), "ageing is -1ns; it must be from 0s to 24h");
  EXPECT_EQ(find_error({.ageing = 25h}), "ageing is 25h; it must be from 0s to 24h");
}

TEST(WorkQueueOptions, AnAddIsTakenUnlessItIsRefusedOrTooLate) {
  for (const Added added : {Added::queued, Added::delayed, Added::merged, Added::marked}) {
    EXPECT_TRUE(is_taken(added)) << name(added);
  }
  EXPECT_FALSE(is_taken(Added::refused));
  EXPECT_FALSE(is_taken(Added::closed));
}

}  // namespace
}  // namespace damper::queue
