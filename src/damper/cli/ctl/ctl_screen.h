#pragma once

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>

#include "damper/base/instant.h"
#include "damper/run/clock.h"

namespace damper::cli {

// A Screen is a terminal that a program has for itself: the text that was there comes back when it
// ends, keys come at once and are not shown, long lines are cut off.
//
// Thread safety: none. Lifetime: the descriptors outlive it.
class Screen {
 public:
  // `in` and `out` are the same terminal.
  Screen(int in, int out) : in_(in), out_(out) {
    if (tcgetattr(in_, &before_) == 0) {
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = tcsetattr(in_, TCSANOW, &quiet) == 0;
    }
    write(kEnter);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    write(kLeave);
    if (changed_) tcsetattr(in_, TCSANOW, &before_);
  }

  // Takes the place of what is shown. Lines that do not fit are left out.
  void show(const std::string& text) {
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
  [[nodiscard]] std::size_t rows() const {
    winsize size{};
    if (ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return kUsualRows;
    return size.ws_row;
  }
  // Waits for `within`, or until the user quits: by q, by ^C (`interrupted` turns true), or by
  // closing the terminal.
  [[nodiscard]] bool wants_to_leave(Duration within, const std::atomic<bool>& interrupted) const {
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

 private:
  // Another screen, no cursor, no wrapping; and back.
  static constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
  static constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
  static constexpr std::size_t kUsualRows = 24;
  static constexpr int kSliceMs = 100;  // ^C may come to another thread

  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
      if (count < 0 && errno != EINTR) return;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
  }

  const int in_;
  const int out_;
  termios before_{};
  bool changed_ = false;
};

}  // namespace damper::cli
