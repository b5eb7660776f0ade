#include "damper/queue/limiters/max_of.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "damper/queue/limiters/limiters_testing.h"

namespace damper::queue {
namespace {

// A MaxOf of these, which can still be looked at.
struct Three {
  Three(std::optional<Duration> a, std::optional<Duration> b, std::optional<Duration> c) {
    std::vector<std::unique_ptr<RateLimiter<int>>> limiters;
    std::uint32_t failures = 3;
    for (const auto& answer : {a, b, c}) {
      auto limiter = std::make_unique<Fixed>(answer, failures);
      failures = failures * 5 % 7;  // 3, 1, 5
      parts.push_back(limiter.get());
      limiters.push_back(std::move(limiter));
    }
    max_of = std::make_unique<MaxOf<int>>(std::move(limiters));
  }
  std::vector<Fixed*> parts;
  std::unique_ptr<MaxOf<int>> max_of;
};

TEST(MaxOf, TheLongestWins) {
  EXPECT_EQ(Three(seconds(1), seconds(3), seconds(2)).max_of->when(1, kFailed, kStart, 0),
            seconds(3));
  EXPECT_EQ(Three(seconds(3), seconds(1), seconds(2)).max_of->when(1, kFailed, kStart, 0),
            seconds(3));
  EXPECT_EQ(Three(Duration(0), Duration(0), Duration(0)).max_of->when(1, kFailed, kStart, 0),
            Duration(0));
  EXPECT_EQ(Three(kForever, Duration(0), kLongest).max_of->when(1, kFailed, kStart, 0), kForever);
}

TEST(MaxOf, OneThatRefusesRefusesForAllAndYetAllAreAsked) {  // Invariant (3)
  for (std::size_t refuses = 0; refuses < 3; ++refuses) {
    std::vector<std::optional<Duration>> answers(3, seconds(1));
    answers[refuses] = std::nullopt;
    Three three(answers[0], answers[1], answers[2]);
    EXPECT_EQ(three.max_of->when(1, kFailed, kStart, 0), std::nullopt);
    for (const Fixed* part : three.parts) EXPECT_EQ(part->asked, 1) << refuses;
  }
}

TEST(MaxOf, TheMostFailuresCountAndAllForget) {
  Three three(seconds(1), seconds(3), seconds(2));
  EXPECT_EQ(three.max_of->failures(9), 5u);
  three.max_of->forget(9);
  for (const Fixed* part : three.parts) EXPECT_EQ(part->forgotten, 9);
}

TEST(MaxOf, ItsStatsAreThoseOfAllTogether) {
  Three three(seconds(1), seconds(3), seconds(2));
  three.parts[0]->stats_of_its_own = {.keys = 1, .capacity = 10, .evicted = 100};
  three.parts[2]->stats_of_its_own = {
      .keys = 2, .capacity = 20, .evicted = 200, .refused = 3, .coalesced = 4};
  EXPECT_EQ(
      three.max_of->stats(),
      (LimiterStats{.keys = 3, .capacity = 30, .evicted = 300, .refused = 3, .coalesced = 4}));
}

TEST(MaxOf, NeedsALimiter) {
  EXPECT_DEATH({ MaxOf<int> none({}); }, "check failed");
  std::vector<std::unique_ptr<RateLimiter<int>>> null(1);
  EXPECT_DEATH({ MaxOf<int> one(std::move(null)); }, "check failed");
}

}  // namespace
}  // namespace damper::queue
