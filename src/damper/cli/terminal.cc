#include "damper/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace damper::cli {
namespace {

// Less than this is over before anybody wonders.
constexpr std::size_t kWorthTelling = 20;

}  // namespace

bool is_terminal(const std::ostream& out) {
  if (&out == &std::cout) return isatty(STDOUT_FILENO) == 1;
  if (&out == &std::cerr) return isatty(STDERR_FILENO) == 1;
  return false;
}

bool wants_colour(const std::ostream& out) {
  return is_terminal(out) && std::getenv("NO_COLOR") == nullptr;
}

void Progress::on_progress(std::size_t done, std::size_t of) {
  if (of < kWorthTelling) return;
  const std::size_t percent = done * 100 / of;
  const std::string line = std::to_string(done) + " of " + std::to_string(of) + ' ' + what_ + ", " +
                           std::to_string(percent) + " %";
  if (terminal_) {
    out_ << '\r' << line << "\x1b[K" << std::flush;
    shown_ = true;
  } else if (percent / 10 > tenths_) {
    tenths_ = percent / 10;
    out_ << line << std::endl;
  }
}

void Progress::finish() {
  if (shown_) out_ << "\r\x1b[K" << std::flush;
  shown_ = false;
}

}  // namespace damper::cli
