#include "damper/base/seqlock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace damper {
namespace {

struct Wide {
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  std::uint8_t tail = 0;
};

TEST(Seqlock, ReturnsWhatWasStored) {
  Seqlock<Wide> lock(Wide{1, 2, 3, 4, 5});
  EXPECT_EQ(lock.load().d, 4u);
  lock.store(Wide{6, 7, 8, 9, 10});
  EXPECT_EQ(lock.load().a, 6u);
  EXPECT_EQ(lock.load().tail, 10u);
  EXPECT_EQ(lock.version(), 2u);
}

TEST(Seqlock, AReaderNeverSeesAMixture) {  // Invariants (1) and (2): two writers, one reader.
  Seqlock<Wide> lock;
  std::vector<std::jthread> writers;
  for (const std::uint64_t first : {0U, 1U}) {
    writers.emplace_back([&lock, first] {
      for (std::uint64_t i = first; i < 40'000; i += 2) lock.store(Wide{i, i, i, i, 0});
    });
  }
  for (int i = 0; i < 40'000; ++i) {
    const Wide seen = lock.load();
    ASSERT_TRUE(seen.a == seen.b && seen.b == seen.c && seen.c == seen.d);
  }
  writers.clear();
  EXPECT_EQ(lock.version(), 40'001u);
}

}  // namespace
}  // namespace damper
