#include "damper/cli/ctl/ctl_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "damper/run/clock.h"

namespace damper::cli {
namespace {

// Another screen, no cursor, no wrapping; and back.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::size_t kUsualRows = 24;
constexpr int kSliceMs = 100;  // ^C may come to another thread

}  // namespace

Screen::Screen(int in, int out) : in_(in), out_(out) {
  if (tcgetattr(in_, &before_) == 0) {
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    changed_ = tcsetattr(in_, TCSANOW, &quiet) == 0;
  }
  write(kEnter);
}

Screen::~Screen() {
  write(kLeave);
  if (changed_) tcsetattr(in_, TCSANOW, &before_);
}

std::size_t Screen::rows() const {
  winsize size{};
  if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return kUsualRows;
  return size.ws_row;
}

void Screen::show(const std::string& text) {
  std::string frame = "\x1b[H";
  std::size_t from = 0;
  for (std::size_t row = rows(); row > 0 && from < text.size(); --row) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    frame.append(text, from, end - from).append("\x1b[K");
    from = end + 1;
    if (row > 1 && from < text.size()) frame += "\r\n";
  }
  write(frame + "\x1b[J");
}

bool Screen::wants_to_leave(Duration within, const std::atomic<bool>& interrupted) const {
  const Instant end = add(run::now(), within);
  while (!interrupted.load()) {
    const Duration left = between(run::now(), end);
    if (left <= Duration{0}) return false;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    pollfd keys{.fd = in_, .events = POLLIN, .revents = 0};
    const int ready = poll(&keys, 1, static_cast<int>(std::min<std::int64_t>(ms, kSliceMs)));
    if (ready <= 0) continue;
    char key = 0;
    const ssize_t count = ::read(in_, &key, 1);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return true;
    if (count == 1 && (key == 'q' || key == 'Q')) return true;
  }
  return true;
}

void Screen::write(const std::string& text) const {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace damper::cli
