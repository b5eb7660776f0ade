#include "damper/lab/runs/workers.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace damper::lab {
namespace {

TEST(Workers, RunEveryIndexOnce) {  // Invariants 1, 2 and 4.
  for (const unsigned threads : {0U, 1U, 2U, 7U, 1000U}) {
    for (const std::size_t count : {0U, 1U, 2U, 100U}) {
      std::vector<int> runs(count, 0);  // Not atomic: each index is one thread's.
      const std::size_t done = run_parallel({.count = count, .threads = threads},
                                            [&](std::size_t index) { ++runs[index]; });
      EXPECT_EQ(done, count);
      EXPECT_EQ(runs, std::vector<int>(count, 1)) << threads << " threads";
    }
  }
}

TEST(Workers, WorkAtTheSameTime) {
  // Each run waits for the other one: one thread alone would never end.
  std::mutex mutex;
  std::condition_variable changed;
  int here = 0;
  const std::size_t done = run_parallel({.count = 2, .threads = 2}, [&](std::size_t) {
    std::unique_lock lock(mutex);
    ++here;
    changed.notify_all();
    changed.wait(lock, [&] { return here == 2; });
  });
  EXPECT_EQ(done, 2U);
}

TEST(Workers, AStopLeavesWhatIsDone) {  // Invariant 1.
  for (const unsigned threads : {1U, 3U}) {
    std::atomic<bool> stop = false;
    std::vector<int> runs(1000, 0);
    const std::size_t done = run_parallel({.count = runs.size(), .threads = threads, .stop = &stop},
                                          [&](std::size_t index) {
                                            if (index == 10) stop = true;
                                            ++runs[index];
                                          });
    EXPECT_GE(done, 11U);
    if (threads == 1) {
      EXPECT_EQ(done, 11U);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i], i < done ? 1 : 0) << i;
  }
}

TEST(Workers, AStopBeforeTheStartRunsNothing) {
  const std::atomic<bool> stop = true;
  const std::size_t done = run_parallel({.count = 5, .threads = 2, .stop = &stop},
                                        [](std::size_t) { FAIL() << "was run"; });
  EXPECT_EQ(done, 0U);
}

TEST(Workers, TheExceptionOfTheLowestIndexReachesTheCaller) {  // Invariant 3.
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> under_way = 0;
    std::string said;
    try {
      (void)run_parallel({.count = 1000, .threads = 4}, [&](std::size_t index) {
        ++under_way;
        if (index == 7) std::this_thread::yield();  // Later than its neighbours, perhaps.
        --under_way;
        if (index >= 7) throw std::runtime_error("run " + std::to_string(index));
      });
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, "run 7");
    EXPECT_EQ(under_way, 0);
  }
}

TEST(Workers, TheLowestIndexWinsWhoeverThrowsLast) {  // Invariant 3.
  for (std::size_t last = 0; last < 2; ++last) {
    std::atomic<int> here = 0;
    std::atomic<bool> other_throws = false;
    const auto run = [&](std::size_t index) {
      ++here;
      while (here < 2) std::this_thread::yield();  // Both have begun.
      if (index == last) {
        while (!other_throws) std::this_thread::yield();
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // Surely after it.
      }
      other_throws = true;
      throw std::runtime_error("run " + std::to_string(index));
    };
    try {
      (void)run_parallel({.count = 2, .threads = 2}, run);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "run 0");
    }
  }
}

TEST(Workers, NothingBeginsAfterAThrow) {  // Invariant 3.
  std::size_t begun = 0;
  const auto run = [&](std::size_t index) {
    ++begun;
    if (index == 3) throw std::runtime_error("no more");
  };
  EXPECT_THROW((void)run_parallel({.count = 100, .threads = 1}, run), std::runtime_error);
  EXPECT_EQ(begun, 4U);
}

TEST(Workers, ProgressIsToldByTheCallersThread) {
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::size_t> told;
  Work work{.count = 20, .threads = 2};
  work.on_progress = [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(of, 20U);
    told.push_back(done);
  };
  EXPECT_EQ(run_parallel(work, [](std::size_t) {}), 20U);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), 20U);
  EXPECT_LE(told.size(), 20U);
}

TEST(Workers, ProgressIsToldWhileRunsAreUnderWay) {
  // The second run ends only after the caller has heard of the first.
  std::mutex mutex;
  std::condition_variable changed;
  bool heard = false;
  std::vector<std::size_t> told;
  Work work{.count = 2, .threads = 1};
  work.on_progress = [&](std::size_t done, std::size_t) {
    const std::lock_guard lock(mutex);
    told.push_back(done);
    heard = true;
    changed.notify_all();
  };
  EXPECT_EQ(run_parallel(work,
                         [&](std::size_t index) {
                           if (index == 0) return;
                           std::unique_lock lock(mutex);
                           changed.wait(lock, [&] { return heard; });
                         }),
            2U);
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2}));
}

TEST(Workers, AThrowOfTheProgressEndsTheWork) {
  Work work{.count = std::numeric_limits<std::size_t>::max(), .threads = 2};  // Never ends alone.
  work.on_progress = [](std::size_t, std::size_t) { throw std::runtime_error("closed"); };
  EXPECT_THROW((void)run_parallel(work, [](std::size_t) {}), std::runtime_error);
}

}  // namespace
}  // namespace damper::lab
