#include "damper/run/attempt.h"

#include <gtest/gtest.h>

namespace damper {
namespace {

using namespace std::chrono_literals;

TEST(Attempt, SaysWhatTheEngineDecided) {
  std::stop_source source;
  const std::stop_token stop = source.get_token();
  const engine::Attempt decided{
      .number = 2, .lane = 1, .hedge = true, .sent = Instant{10s}, .deadline = Instant{13s}};
  const Attempt attempt(decided, stop);
  EXPECT_EQ(attempt.number(), 2u);
  EXPECT_TRUE(attempt.hedge());
  EXPECT_EQ(attempt.deadline(), Instant{13s});
  EXPECT_EQ(attempt.timeout(), 3s);
  EXPECT_FALSE(attempt.stop().stop_requested());
  source.request_stop();
  EXPECT_TRUE(attempt.stop().stop_requested());
}

TEST(Attempt, HasNoNegativeTimeout) {
  const std::stop_token stop;
  const engine::Attempt late{.sent = Instant{10s}, .deadline = Instant{9s}};
  EXPECT_EQ(Attempt(late, stop).timeout(), 0s);
}

}  // namespace
}  // namespace damper
