#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// A StoreOperation is a call of the store that waits for its thread: the work, its result, and the
// caller's `done`.
class StoreOperation {
 public:
  explicit StoreOperation(std::size_t bytes) noexcept : bytes_(bytes) {}
  StoreOperation(const StoreOperation&) = delete;
  StoreOperation& operator=(const StoreOperation&) = delete;
  virtual ~StoreOperation() = default;

  // Does the work and keeps its result; may be repeated after a rollback. May throw what the
  // database throws.
  virtual void run() = 0;
  // Calls `done`, once: with the result of the last run(), or with this error.
  virtual void finish(const StoreError* error) = 0;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

// `work` returns an Expected<T, StoreError>.
template <class T, class Work>
class StoreOperationOf final : public StoreOperation {
 public:
  StoreOperationOf(std::size_t bytes, Work work, Store::Done<T> done)
      : StoreOperation(bytes), work_(std::move(work)), done_(std::move(done)) {}

  void run() override { result_.emplace(work_()); }
  void finish(const StoreError* error) override {
    if (error != nullptr) {
      done_(unexpected(*error));
      return;
    }
    DAMPER_CHECK(result_.has_value());
    done_(*std::move(result_));
  }

 private:
  Work work_;
  Store::Done<T> done_;
  std::optional<Expected<T, StoreError>> result_;
};

struct StoreThreadLimits {
  std::size_t operations = 20'000;                 // that wait
  std::size_t bytes = std::size_t{64} << 20;       // of them
  std::size_t batch_operations = 1'000;            // executed together
  std::size_t batch_bytes = std::size_t{4} << 20;  // at least one operation
  std::size_t reserve_operations = 20'000;         // for those that must not be refused
  std::size_t reserve_bytes = std::size_t{64} << 20;
};

// A StoreThread executes operations in order, in batches, on a thread of its own.
//
// Why: a commit waits for the disk. Operations that arrive during one commit share the next.
// Model: a bounded queue. The thread takes what has arrived, up to the limits of a batch, and
// passes it to `execute`, which runs and finishes each.
// Invariants:
//   (1) Each operation that was taken is executed once, also if the thread is stopped.
//   (2) A refused operation is left to the caller, unchanged.
//   (3) Operations with `reserve` are accepted when the others are not any more.
// Thread safety: all methods may be called concurrently, also by `execute`; but stop() only by the
// owner.
class StoreThread {
 public:
  using Batch = std::span<const std::unique_ptr<StoreOperation>>;

  StoreThread(StoreThreadLimits limits, std::function<void(Batch)> execute);
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;
  ~StoreThread() { stop(); }

  // Nothing: it was taken. Otherwise the reason.
  [[nodiscard]] std::optional<StoreError> try_push(std::unique_ptr<StoreOperation>& operation,
                                                   bool reserve = false);
  // Executes what is queued, refuses what comes later, and ends the thread.
  void stop();

 private:
  void loop();
  [[nodiscard]] std::vector<std::unique_ptr<StoreOperation>> take_batch();

  const StoreThreadLimits limits_;
  const std::function<void(Batch)> execute_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::unique_ptr<StoreOperation>> queue_;  // guarded by mutex_, as the next two
  std::size_t bytes_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace damper::webhooks
