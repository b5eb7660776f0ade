#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "damper/base/instant.h"

namespace damper::proxy {

// A Latch waits, with a timeout, until loops have answered. (std::latch has no timeout.)
//
// Thread safety: all methods may be called concurrently.
class Latch {
 public:
  explicit Latch(std::size_t count) : count_(count) {}
  void count_down() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void wait_for(Duration timeout) {
    std::unique_lock lock(mutex_);
    zero_.wait_for(lock, timeout, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  std::size_t count_;
};

}  // namespace damper::proxy
