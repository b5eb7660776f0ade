#include "damper/lab/runs/workers.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace damper::lab {
namespace {

constexpr std::chrono::milliseconds kPace{100};
constexpr unsigned kMostThreads = 64;

// What the threads share.
class Crew {
 public:
  Crew(const Work& work, const std::function<void(std::size_t)>& run) : work_(work), run_(run) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    abandon();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::size_t most) {
    threads_.reserve(most);
    try {
      while (threads_.size() < most) threads_.emplace_back([this] { take_runs(); });
    } catch (const std::system_error&) {
      // As many as there may be. The caller works as well when there is none.
    }
    if (threads_.empty()) take_runs();
  }

  // Waits until all is done or stopped, and reports the progress.
  void wait() {
    std::unique_lock lock(mutex_);
    std::size_t reported = 0;
    while (!is_over()) {
      over_.wait_for(lock, kPace, [this] { return is_over(); });
      if (done_ == reported || is_over()) continue;
      reported = done_;
      report(lock, reported);
    }
    if (failure_) std::rethrow_exception(failure_);
    report(lock, done_);
  }

  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  void take_runs() {
    std::unique_lock lock(mutex_);
    while (may_begin()) {
      const std::size_t index = begun_++;
      lock.unlock();
      std::exception_ptr failure;
      try {
        run_(index);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      ++done_;
      if (failure && (!failure_ || index < failed_)) {
        failure_ = failure;
        failed_ = index;
      }
    }
    if (is_over()) over_.notify_one();
  }

  // With the lock held:
  [[nodiscard]] bool may_begin() {
    if (work_.stop != nullptr && work_.stop->load(std::memory_order_relaxed)) abandoned_ = true;
    return !abandoned_ && !failure_ && begun_ < work_.count;
  }
  [[nodiscard]] bool is_over() { return done_ == begun_ && !may_begin(); }

  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }

  // Without the lock: the threads continue while the caller prints.
  void report(std::unique_lock<std::mutex>& lock, std::size_t done) {
    if (!work_.on_progress) return;
    lock.unlock();
    work_.on_progress(done, work_.count);
    lock.lock();
  }

  const Work& work_;
  const std::function<void(std::size_t)>& run_;
  std::mutex mutex_;
  std::condition_variable over_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
  bool abandoned_ = false;
  std::exception_ptr failure_;
  std::size_t failed_ = 0;  // the index of failure_
  std::vector<std::thread> threads_;
};

}  // namespace

std::size_t run_parallel(const Work& work, const std::function<void(std::size_t index)>& run) {
  const unsigned wanted =
      work.threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : work.threads;
  Crew crew(work, run);
  crew.start(std::min<std::size_t>(std::min(wanted, kMostThreads), work.count));
  crew.wait();
  return crew.done();
}

}  // namespace damper::lab
