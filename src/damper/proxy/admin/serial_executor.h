#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace damper::proxy {

// A SerialExecutor runs functions one after another on a thread of its own.
//
// Why: /state waits for the data plane's loops, and a reload reads files. The admin server's loop
// must not block meanwhile, or a stuck worker blocks /healthz and the kill switch too.
// Invariants:
//   (1) A function that try_post() accepted runs once, in order; or never, if the executor is
//       destroyed first.
//   (2) At most `most` functions wait.
// Thread safety: all methods may be called concurrently.
class SerialExecutor {
 public:
  explicit SerialExecutor(std::size_t most) : most_(most), thread_([this] { work(); }) {}
  // Waits for the function that runs.
  ~SerialExecutor() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  // False: the queue is full. The function must not throw.
  [[nodiscard]] bool try_post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= most_) return false;
      waiting_.push_back(std::move(work));
    }
    wake_.notify_one();
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      std::function<void()> next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      next();
      next = {};  // Without the lock: its captures may run destructors.
      lock.lock();
    }
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace damper::proxy
