#pragma once

#include <termios.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "damper/base/instant.h"

namespace damper::cli {

// A Screen is a terminal that a program has for itself: the text that was there comes back when it
// ends, keys come at once and are not shown, long lines are cut off.
//
// Thread safety: none. Lifetime: the descriptors outlive it.
class Screen {
 public:
  // `in` and `out` are the same terminal.
  Screen(int in, int out);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  // Takes the place of what is shown. Lines that do not fit are left out.
  void show(const std::string& text);
  [[nodiscard]] std::size_t rows() const;
  // Waits so long, or until somebody wants to leave: by q, by ^C (`interrupted` turns true), or by
  // closing the terminal.
  [[nodiscard]] bool wants_to_leave(Duration within, const std::atomic<bool>& interrupted) const;

 private:
  void write(const std::string& text) const;

  const int in_;
  const int out_;
  termios before_{};
  bool changed_ = false;
};

}  // namespace damper::cli
