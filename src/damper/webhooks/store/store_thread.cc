#include "damper/webhooks/store/store_thread.h"

#include <algorithm>

namespace damper::webhooks {

StoreThread::StoreThread(StoreThreadLimits limits, std::function<void(Batch)> execute)
    : limits_(limits), execute_(std::move(execute)), thread_([this] { loop(); }) {}

std::optional<StoreError> StoreThread::try_push(std::unique_ptr<StoreOperation>& operation,
                                                bool reserve) {
  const std::size_t most_operations =
      limits_.operations + (reserve ? limits_.reserve_operations : 0);
  const std::size_t most_bytes = limits_.bytes + (reserve ? limits_.reserve_bytes : 0);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return StoreError{StoreError::Kind::unavailable, "the store is closing"};
    if (queue_.size() >= most_operations || bytes_ + operation->bytes() > most_bytes) {
      return StoreError{StoreError::Kind::unavailable,
                        "the store's queue is full: " + std::to_string(queue_.size()) +
                            " operations of " + std::to_string(bytes_) + " bytes wait"};
    }
    bytes_ += operation->bytes();
    queue_.push_back(std::move(operation));
  }
  wakes_.notify_one();
  return std::nullopt;
}

void StoreThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::vector<std::unique_ptr<StoreOperation>> StoreThread::take_batch() {
  std::vector<std::unique_ptr<StoreOperation>> batch;
  std::unique_lock lock(mutex_);
  wakes_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  batch.reserve(std::min(queue_.size(), limits_.batch_operations));
  std::size_t bytes = 0;
  while (!queue_.empty() && batch.size() < limits_.batch_operations &&
         (batch.empty() || bytes + queue_.front()->bytes() <= limits_.batch_bytes)) {
    bytes += queue_.front()->bytes();
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  bytes_ -= bytes;
  return batch;
}

void StoreThread::loop() {
  for (;;) {
    const auto batch = take_batch();
    if (batch.empty()) return;
    execute_(batch);
  }
}

}  // namespace damper::webhooks
