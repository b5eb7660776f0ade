#include "damper/proxy/admin/clerk.h"

#include <utility>

namespace damper::proxy {

Clerk::Clerk(std::size_t most) : most_(most), thread_([this] { work(); }) {}

Clerk::~Clerk() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool Clerk::try_give(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) return false;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void Clerk::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next();
    next = {};  // Not under the lock: what it holds may be the last of something.
    lock.lock();
  }
}

}  // namespace damper::proxy
