#include "damper/proxy/process/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

std::optional<std::int64_t> find_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  const auto number = text::find_number<std::int64_t>(value);
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace

ServiceNotify::ServiceNotify() {
  const auto most = static_cast<std::int64_t>(kLongest / std::chrono::microseconds(1));
  if (const auto every = find_variable("WATCHDOG_USEC"); every && *every <= most) {
    const auto whose = find_variable("WATCHDOG_PID");
    if (!whose || *whose == getpid()) {
      watchdog_every_ =
          std::max<Duration>(std::chrono::microseconds(*every / 2), std::chrono::milliseconds(10));
    }
  }
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view name = variable != nullptr ? variable : "";
  sockaddr_un at{};
  // A path has its end in it; an abstract name, whose first byte is 0, has not.
  if (name.size() < 2 || name.size() >= sizeof at.sun_path) return;
  if (name[0] != '/' && name[0] != '@') return;
  at.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), at.sun_path);
  if (name[0] == '@') at.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '/' ? 1 : 0);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return;
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&at), static_cast<socklen_t>(size)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

ServiceNotify::~ServiceNotify() {
  if (fd_ >= 0) close(fd_);
}

void ServiceNotify::reloading(Instant now) const {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  say("RELOADING=1\nMONOTONIC_USEC=", std::to_string(since.count()));
}

void ServiceNotify::say(std::string_view what, std::string_view value) const {
  if (fd_ < 0) return;
  std::string message(what);
  for (const char c : value) message += c == '\n' ? ' ' : c;  // A line is a variable.
  (void)send(fd_, message.data(), message.size(), MSG_NOSIGNAL);
}

}  // namespace damper::proxy
