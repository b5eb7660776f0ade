#ifndef DAMPER_PROXY_ADMIN_CLERK_H_
#define DAMPER_PROXY_ADMIN_CLERK_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace damper::proxy {

// A Clerk does one thing after another, on a thread of its own.
//
// Why: the state of a proxy is asked of its loops, and a reload reads files; the admin server's own
// loop must go on meanwhile, or a stuck worker takes /healthz and the kill switch with it.
// Invariants:
//   (1) What try_give() took is done once, in order; or never, when the clerk goes first.
//   (2) At most `most` things wait.
// Thread safety: all methods may be called concurrently.
class Clerk {
 public:
  explicit Clerk(std::size_t most);
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;
  ~Clerk();  // After what is under way.

  // False: too much waits. The work must not throw.
  [[nodiscard]] bool try_give(std::function<void()> work);

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

#endif  // DAMPER_PROXY_ADMIN_CLERK_H_
