#pragma once

#include <csignal>
#include <initializer_list>

namespace damper::http {

// A SignalFd is a descriptor from which signals are read, so that no work is done in a handler.
//
// Model: the signals are blocked in the thread that creates it, and in threads which that thread
// starts later; a child process that runs another program unblocks them (mask_before()).
// Thread safety: none; one in the process, created before other threads are started.
class SignalFd {
 public:
  // Throws std::system_error.
  SignalFd(std::initializer_list<int> signals);
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  ~SignalFd();

  [[nodiscard]] int fd() const noexcept { return fd_; }
  // The next one; 0: there is none now.
  [[nodiscard]] int next() noexcept;
  [[nodiscard]] const sigset_t& mask_before() const noexcept { return before_; }

 private:
  int fd_ = -1;
  sigset_t before_{};
};

}  // namespace damper::http
