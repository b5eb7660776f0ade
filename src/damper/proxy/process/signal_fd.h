#pragma once

#include <csignal>
#include <initializer_list>

namespace damper::proxy {

// A SignalFd gives signals as something to read, so that nothing is done in a handler.
//
// Model: the signals are blocked in the thread that makes it, and in threads that it starts
// later; a child that is to be another program unblocks them (mask_before()).
// Thread safety: none; made before there are threads, one at a time in the process.
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

}  // namespace damper::proxy
