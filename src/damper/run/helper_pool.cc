#include "damper/run/helper_pool.h"

#include <new>
#include <system_error>

#include "damper/run/clock.h"

namespace damper::run {

HelperPool::HelperPool(std::size_t most_threads, std::size_t most_tasks)
    : most_threads_(most_threads), most_tasks_(most_tasks) {
  threads_.reserve(most_threads);
}

HelperPool::~HelperPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

HelperPool& HelperPool::of_process() {
  static HelperPool& pool = *new HelperPool;
  return pool;
}

bool HelperPool::schedule(Task& task, Instant due) {
  const std::lock_guard lock(mutex_);
  forget(task);
  if (waiting_.size() >= most_tasks_) return false;
  if (idle_ == 0 && !try_start() && threads_.empty()) return false;
  try {
    waiting_.emplace(due, &task);
  } catch (const std::bad_alloc&) {
    return false;
  }
  task.waiting_ = true;
  task.due_ = due;
  if (waiting_.begin()->second == &task) wake_.notify_one();  // It is the earliest now.
  return true;
}

bool HelperPool::try_start() {
  if (threads_.size() >= most_threads_) return false;
  try {
    threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    return false;
  }
  ++idle_;
  return true;
}

void HelperPool::cancel(Task& task) {
  std::unique_lock lock(mutex_);
  forget(task);
  done_.wait(lock, [&task] { return task.running_ == 0; });
}

void HelperPool::forget(Task& task) {
  if (task.waiting_) waiting_.erase({task.due_, &task});
  task.waiting_ = false;
}

std::size_t HelperPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void HelperPool::help() {
  std::unique_lock lock(mutex_);
  --idle_;  // Since it was started.
  while (!stopping_) {
    if (waiting_.empty()) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
      continue;
    }
    const auto [due, task] = *waiting_.begin();
    if (run::now() < due) {
      ++idle_;
      wake_.wait_until(lock, steady_time(due));
      --idle_;
      continue;
    }
    waiting_.erase(waiting_.begin());
    task->waiting_ = false;
    ++task->running_;
    const bool may_block = idle_ > 0 || try_start();
    if (!waiting_.empty()) wake_.notify_one();  // That thread watches the earliest of the rest.
    lock.unlock();
    task->run(may_block);
    lock.lock();
    --task->running_;
    done_.notify_all();
  }
}

}  // namespace damper::run
