#include "damper/lab/world/wait_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::lab {
namespace {

Handle who(std::uint32_t number) { return {number, 1}; }

TEST(WaitLine, ServesFromBothEnds) {
  WaitLine line;
  for (std::uint32_t i = 1; i <= 4; ++i) (void)line.push(who(i));
  EXPECT_EQ(line.size(), 4u);
  EXPECT_EQ(line.pop_oldest(), who(1));
  EXPECT_EQ(line.pop_newest(), who(4));
  EXPECT_EQ(line.pop_oldest(), who(2));
  EXPECT_FALSE(line.empty());
  EXPECT_EQ(line.pop_newest(), who(3));
  EXPECT_TRUE(line.empty());
}

TEST(WaitLine, AnybodyMayLeaveFromAnywhere) {
  WaitLine line;
  const auto first = line.push(who(1));
  const auto middle = line.push(who(2));
  (void)line.push(who(3));
  const auto last = line.push(who(4));
  EXPECT_EQ(line.leave(middle), who(2));
  EXPECT_EQ(line.leave(first), who(1));
  EXPECT_EQ(line.leave(last), who(4));
  EXPECT_EQ(line.size(), 1u);
  EXPECT_EQ(line.pop_oldest(), who(3));
}

TEST(WaitLine, NobodyLeavesTwiceNorFromAnEmptyLine) {
  WaitLine line;
  const auto place = line.push(who(1));
  (void)line.leave(place);
  EXPECT_DEATH((void)line.leave(place), "check failed");
  EXPECT_DEATH((void)line.pop_oldest(), "check failed");
  EXPECT_DEATH((void)line.pop_newest(), "check failed");
}

TEST(WaitLine, PlacesAreUsedAgain) {
  WaitLine line;
  (void)line.push(who(0));
  for (std::uint32_t i = 1; i < 10'000; ++i) {
    ASSERT_LE(line.push(who(i)), 2u);  // Two wait at once, at the most.
    ASSERT_EQ(line.pop_oldest(), who(i - 1));
  }
}

TEST(WaitLine, KeepsTheOrderWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    WaitLine line;
    std::vector<std::pair<WaitLine::Slot, Handle>> model;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const double what = random.draw();
      if (model.empty() || what < 0.5) {
        model.emplace_back(line.push(who(i)), who(i));
      } else if (what < 0.65) {
        ASSERT_EQ(line.pop_oldest(), model.front().second);
        model.erase(model.begin());
      } else if (what < 0.8) {
        ASSERT_EQ(line.pop_newest(), model.back().second);
        model.pop_back();
      } else {
        const auto at = static_cast<std::ptrdiff_t>(random.bits() % model.size());
        ASSERT_EQ(line.leave(model[static_cast<std::size_t>(at)].first),
                  model[static_cast<std::size_t>(at)].second);
        model.erase(model.begin() + at);
      }
      ASSERT_EQ(line.size(), model.size());
    }
  }
}

}  // namespace
}  // namespace damper::lab
