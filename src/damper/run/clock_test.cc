#include "damper/run/clock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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

TEST(Clock, TheCoarseOneIsOnTheSameTimelineAndNeverAhead) {
  Instant last{};
  for (int i = 0; i < 10'000; ++i) {
    const Instant coarse = coarse_now();
    ASSERT_LE(coarse, now());
    ASSERT_GE(coarse, last);
    last = coarse;
  }
  EXPECT_GT(add(coarse_now(), 1s), now());  // Ticks are 1 to 10 ms apart.
}

// Reads the quick clock for `length`; how far outside of two reads of the clock around it the worst
// one was.
Duration worst_error(Duration length) {
  Duration worst{0};
  const Instant end = in(length);
  for (Instant before = now(); before < end; before = now()) {
    const Instant quick = quick_now();
    worst = std::max({worst, before - quick, quick - now()});
  }
  return worst;
}

TEST(Clock, TheQuickOneIsWithinMicroseconds) {
  EXPECT_LT(worst_error(20ms), 50us);
  std::this_thread::sleep_for(20ms);
  EXPECT_LT(worst_error(20ms), 50us);
}

#ifdef __x86_64__
TEST(Clock, TheQuickOneIsRightSoonAfterTheCounterHasJumped) {
  internal::CounterAnchor& anchor = internal::this_threads_anchor;
  for (const std::int64_t jump : {std::int64_t{-1'000'000'000'000}, std::int64_t{-1'000'000},
                                  std::int64_t{500'000}, std::int64_t{1'000'000'000'000}}) {
    (void)worst_error(5ms);
    anchor.ticks -= static_cast<std::uint64_t>(jump);  // as if it had moved by `jump`
    EXPECT_LT(worst_error(5ms), 2ms) << jump;  // Until the end of the anchor, and of the next one.
    EXPECT_LT(worst_error(5ms), 50us) << jump;
  }
  anchor.scale *= 2;  // as if it ran at half of its rate
  (void)worst_error(5ms);
  EXPECT_LT(worst_error(5ms), 50us);
}
#endif

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

TEST(Clock, TrapJ4_NoTwoForkedProcessesDrawTheSameJitter) {
  (void)draw();  // The parent's stream is under way when it is copied.
  std::set<std::uint64_t> draws;
  for (int i = 0; i < 3; ++i) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const double drawn = draw();
      _exit(write(ends[1], &drawn, sizeof drawn) == sizeof drawn ? 0 : 1);
    }
    double drawn = 0;
    ASSERT_EQ(read(ends[0], &drawn, sizeof drawn), static_cast<ssize_t>(sizeof drawn));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    draws.insert(std::bit_cast<std::uint64_t>(drawn));
  }
  EXPECT_EQ(draws.size(), 3u);
}

}  // namespace
}  // namespace damper::run
