#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "damper/base/expected.h"

namespace damper::demo {

// A DispatcherProcess is `damper webhooks serve` as a child process, which can be killed. It is
// killed with its parent, however that ends.
// Thread safety: none.
class DispatcherProcess {
 public:
  // Starts it and waits until it serves. `program` is the file of `damper`, `config` that of the
  // dispatcher, which listens on port 0; its log is appended to the file `log`. Or a sentence.
  [[nodiscard]] static Expected<DispatcherProcess> start(const std::string& program,
                                                         const std::string& config,
                                                         const std::string& log);
  DispatcherProcess(DispatcherProcess&& other) noexcept;
  DispatcherProcess& operator=(DispatcherProcess&& other) noexcept;
  ~DispatcherProcess() { kill(); }

  // Of the API.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // SIGKILL, and waits for its end.
  void kill() noexcept;
  // SIGTERM, and waits for its end: the exit status.
  int stop() noexcept;

 private:
  DispatcherProcess(pid_t pid, int errors) : pid_(pid), errors_(errors) {}
  int wait() noexcept;

  pid_t pid_ = -1;
  int errors_ = -1;  // its standard error
  std::uint16_t port_ = 0;
};

}  // namespace damper::demo
