#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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
  explicit SerialExecutor(std::size_t most);
  ~SerialExecutor();  // Waits for the function that runs.

  // False: the queue is full. The function must not throw.
  [[nodiscard]] bool try_post(std::function<void()> work);

 private:
  void work();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace damper::proxy
