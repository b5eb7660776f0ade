#include "damper/run/patient_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace damper::run {
namespace {

TEST(PatientLock, HoldsAFreeMutexUntilItGoes) {
  std::mutex mutex;
  {
    const std::unique_lock lock = lock_patiently(mutex);
    EXPECT_TRUE(lock.owns_lock());
    std::jthread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  }
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(PatientLock, WaitsForOneThatIsHeldForLong) {
  std::mutex mutex;
  std::atomic<bool> asks{false};
  int value = 0;
  std::unique_lock lock(mutex);
  std::jthread other([&] {
    asks = true;
    const std::unique_lock mine = lock_patiently(mutex);
    EXPECT_EQ(value, 1);
  });
  while (!asks) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Longer than it spins.
  value = 1;
  lock.unlock();
}

TEST(PatientLock, LetsOneInAtATime) {
  std::mutex mutex;
  int count = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        const std::unique_lock lock = lock_patiently(mutex);
        ++count;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, 40'000);
}

}  // namespace
}  // namespace damper::run
