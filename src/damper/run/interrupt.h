#pragma once

#include <atomic>

namespace damper::run {

// The exit status of a program that was interrupted, as shells have it.
inline constexpr int kInterrupted = 130;

// While an Interrupt lives, the first ^C (SIGINT) or SIGTERM sets a flag instead of ending the
// process, so that long work can stop and show what is done. The second one ends it.
//
// Thread safety: one at a time in the process.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  // True after the first signal.
  [[nodiscard]] static const std::atomic<bool>& flag() noexcept;
};

}  // namespace damper::run
