#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace damper::drills {

// A Process is a program that a drill started: a real one, which can be killed. It dies with the
// drill, however that ends.
class Process {
 public:
  // Starts the program, whose standard output we read. Throws std::system_error.
  explicit Process(const std::vector<std::string>& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process() { kill(); }

  // The next line that it prints, without the newline; empty after its end, or after ten seconds.
  [[nodiscard]] std::string read_line();
  // SIGKILL, and wait for its end.
  void kill() noexcept;
  // SIGTERM, and wait for its end; its exit status.
  int stop() noexcept;
  // Waits until it ends by itself; its exit status.
  int wait_for_end() noexcept { return pid_ > 0 ? wait() : 0; }
  void pause() noexcept;   // SIGSTOP
  void resume() noexcept;  // SIGCONT
  [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  int wait() noexcept;

  pid_t pid_ = -1;
  int output_ = -1;
  std::string read_;  // beyond the last line
};

}  // namespace damper::drills
