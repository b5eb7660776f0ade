#include "damper/proxy/data/kept_bytes.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

TEST(KeptBytes, AreAtMostTheLimit) {
  KeptBytes kept(100);
  EXPECT_TRUE(kept.try_grow(60));
  EXPECT_FALSE(kept.try_grow(41));
  EXPECT_EQ(kept.now(), 60U);
  EXPECT_EQ(kept.refused(), 1U);
  EXPECT_TRUE(kept.try_grow(40));
  kept.shrink(100);
  EXPECT_EQ(kept.now(), 0U);
}

TEST(KeptBytes, AReloadTakesNothingAway) {
  KeptBytes kept(100);
  EXPECT_TRUE(kept.try_grow(60));
  kept.reload(50);
  EXPECT_FALSE(kept.try_grow(1));
  kept.shrink(20);
  EXPECT_TRUE(kept.try_grow(10));
  kept.shrink(50);
}

TEST(KeptBytes, ByDefaultAreAPartOfTheMemory) {
  KeptBytes kept(0);
  EXPECT_EQ(kept.limit(), KeptBytes::default_limit());
  EXPECT_GE(kept.limit(), KeptBytes::kLeast);
}

TEST(KeptBytes, ReportRefusalsOnceAMinute) {
  KeptBytes kept(1);
  const Instant start = Instant{} + 1h;
  EXPECT_FALSE(kept.find_report(start));
  EXPECT_FALSE(kept.try_grow(2));
  EXPECT_FALSE(kept.try_grow(2));
  EXPECT_EQ(kept.find_report(start), 2U);
  EXPECT_FALSE(kept.try_grow(2));
  EXPECT_FALSE(kept.find_report(start + 59s));
  EXPECT_EQ(kept.find_report(start + 60s), 1U);
  EXPECT_FALSE(kept.find_report(start + 3min));
}

}  // namespace
}  // namespace damper::proxy
