#include "damper/queue/controller/turn.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

TEST(Turn, SaysWhichAttemptItIsUntilWhenAndWhetherToStop) {
  std::stop_source source;
  const Turn turn(3, Instant{std::chrono::seconds(7)}, source.get_token());
  EXPECT_EQ(turn.attempt(), 3u);
  EXPECT_EQ(turn.deadline(), Instant{std::chrono::seconds(7)});
  EXPECT_FALSE(turn.stop().stop_requested());
  source.request_stop();
  EXPECT_TRUE(turn.stop().stop_requested());
}

}  // namespace
}  // namespace damper
