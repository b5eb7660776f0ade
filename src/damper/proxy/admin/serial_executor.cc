#include "damper/proxy/admin/serial_executor.h"

#include <utility>

namespace damper::proxy {

SerialExecutor::SerialExecutor(std::size_t most) : most_(most), thread_([this] { work(); }) {}

SerialExecutor::~SerialExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool SerialExecutor::try_post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) return false;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void SerialExecutor::work() {
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

}  // namespace damper::proxy
