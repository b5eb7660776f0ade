#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace damper::cli {

// Whether the stream is this process's standard output or standard error, and a person looks at it.
[[nodiscard]] bool is_terminal(const std::ostream& out);

// Whether to write in colour: on a terminal, unless NO_COLOR is set (no-color.org).
[[nodiscard]] bool wants_colour(const std::ostream& out);

// A Progress tells how far long work is: on a terminal in one line that changes, elsewhere in ten
// lines at most.
class Progress {
 public:
  // `what` is counted: "runs". The stream outlives it.
  Progress(std::ostream& out, std::string what)
      : out_(out), what_(std::move(what)), terminal_(is_terminal(out)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  void on_progress(std::size_t done, std::size_t of);
  // Takes the line away.
  void finish();

 private:
  std::ostream& out_;
  const std::string what_;
  const bool terminal_;
  bool shown_ = false;
  std::size_t tenths_ = 0;  // that have been told
};

}  // namespace damper::cli
