#include "damper/observe/log_writers.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

namespace damper::observe {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

void write_line(int descriptor, std::string_view line) {
  pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) < 0) fail(errno);
  if ((ready.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) fail(EPIPE);
  if ((ready.revents & POLLOUT) == 0) fail(EAGAIN);
  while (!line.empty()) {
    const ssize_t written = write(descriptor, line.data(), line.size());
    if (written < 0 && errno != EINTR) fail(errno);
    if (written > 0) line.remove_prefix(static_cast<std::size_t>(written));
  }
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)close(descriptor_); }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace

TransitionLog::Writer write_to(int descriptor) {
  return [descriptor](std::string_view line) { write_line(descriptor, line); };
}

Expected<TransitionLog::Writer> append_to(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
  if (descriptor < 0) {
    return unexpected(path +
                      ": cannot be opened for the log: " + std::generic_category().message(errno));
  }
  return TransitionLog::Writer([file = std::make_shared<File>(descriptor)](std::string_view line) {
    write_line(file->descriptor(), line);
  });
}

}  // namespace damper::observe
