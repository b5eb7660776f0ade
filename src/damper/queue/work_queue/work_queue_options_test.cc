#include "damper/queue/work_queue/work_queue_options.h"

#include <gtest/gtest.h>

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

TEST(WorkQueueOptions, TheDefaultsAreGood) { EXPECT_EQ(find_error({}), std::nullopt); }

TEST(WorkQueueOptions, EveryBoundIsSaidInOneSentence) {
  EXPECT_EQ(find_error({.capacity = 0}), "capacity must be 1 to 50,000,000 keys");
  EXPECT_EQ(find_error({.capacity = 1}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 50'000'000}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 50'000'001}), "capacity must be 1 to 50,000,000 keys");

  EXPECT_EQ(find_error({.capacity = 10, .group_capacity = 10}), std::nullopt);
  EXPECT_EQ(find_error({.capacity = 10, .group_capacity = 11}),
            "group_capacity must be at most the capacity, or 0 for none of its own");

  EXPECT_EQ(find_error({.ageing = 0ns}), std::nullopt);
  EXPECT_EQ(find_error({.ageing = 24h}), std::nullopt);
  EXPECT_EQ(find_error({.ageing = -1ns}), "ageing must be 0 to 1 day");
  EXPECT_EQ(find_error({.ageing = 24h + 1ns}), "ageing must be 0 to 1 day");
}

TEST(WorkQueueOptions, EachFateOfAnAddHasItsName) {
  EXPECT_EQ(name(Added::queued), "queued");
  EXPECT_EQ(name(Added::delayed), "delayed");
  EXPECT_EQ(name(Added::merged), "merged");
  EXPECT_EQ(name(Added::marked), "marked");
  EXPECT_EQ(name(Added::refused), "refused");
  EXPECT_EQ(name(Added::closed), "closed");
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
