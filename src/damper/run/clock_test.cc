#include "damper/run/clock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace damper::run {
namespace {

using namespace std::chrono_literals;

TEST(Clock, NeverGoesBack) {
  const Instant before = now();
  EXPECT_LE(before, now());
  EXPECT_GE(in(1s), before + 1s);
  EXPECT_EQ(in(kForever), kNever);
}

TEST(Clock, TrapJ4_NoTwoThreadsDrawTheSameJitter) {
  std::set<double> draws;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&] {
      const std::lock_guard lock(mutex);
      for (int j = 0; j < 10; ++j) draws.insert(draw());
    });
  }
  threads.clear();
  EXPECT_EQ(draws.size(), 500u);
}

}  // namespace
}  // namespace damper::run
