#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "damper/base/instant.h"

namespace damper::proxy {

// A ServiceNotify reports the state of the process to the service manager, by the protocol of
// sd_notify(3). Without NOTIFY_SOCKET it has no effect.
//
// Model: one datagram for each message, to the socket that NOTIFY_SOCKET names: a path, or @ and
// an abstract name. A message that cannot be sent is dropped: a manager that does not read must not
// stop a proxy.
// Thread safety: after the constructor, all methods may be called concurrently.
class ServiceNotify {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceNotify();
  ServiceNotify(const ServiceNotify&) = delete;
  ServiceNotify& operator=(const ServiceNotify&) = delete;
  ~ServiceNotify();

  void ready(std::string_view status) const { say("READY=1\nSTATUS=", status); }
  // Between it and ready() the unit is reloading; systemd wants to know when it began.
  void reloading(Instant now) const;
  void stopping(std::string_view status) const { say("STOPPING=1\nSTATUS=", status); }
  void main_pid(pid_t pid) const { say("MAINPID=", std::to_string(pid)); }
  void alive() const { say("WATCHDOG=1", ""); }

  // The interval of alive(): half of the manager's timeout. Nothing: it has no watchdog.
  [[nodiscard]] std::optional<Duration> watchdog_every() const noexcept { return watchdog_every_; }

 private:
  void say(std::string_view what, std::string_view value) const;

  int fd_ = -1;  // -1: there is no socket
  std::optional<Duration> watchdog_every_;
};

}  // namespace damper::proxy
