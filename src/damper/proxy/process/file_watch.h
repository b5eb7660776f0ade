#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"

namespace damper::proxy {

// A FileWatch says when the content of a file may have changed.
//
// Why: editors write another file and rename it; a Kubernetes ConfigMap swaps a symbolic link
// beside the file (..data). A watch of the file itself would watch the replaced one. So this
// watches the folders: the one that the name is in, and the one that the links lead to; while one
// is not there, the nearest above it.
// Model: the descriptor is readable when something happened in a folder. on_ready() reads it, and
// due() is then kQuiet later, and again later while more happens, but never more than kLongestWait
// after the first; at due() its owner calls on_look(), then reads the file, and compares. It is
// created before the file is read for the first time.
// Invariants:
//   (1) A change that ends is followed by a due(); a storm of changes by one each kLongestWait.
// Thread safety: none.
class FileWatch {
 public:
  static constexpr Duration kQuiet = std::chrono::milliseconds(100);
  static constexpr Duration kLongestWait = std::chrono::seconds(1);

  explicit FileWatch(std::string file);
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch();

  [[nodiscard]] int fd() const noexcept { return fd_; }  // -1: the system does not let us watch
  void on_ready(Instant now);
  [[nodiscard]] Instant due() const noexcept { return due_; }  // kNever: nothing happened
  // The file is about to be read: waits for what changes from now on, in the folders where it is
  // now.
  void on_look();

 private:
  void watch_folders();

  const std::string file_;
  int fd_ = -1;
  std::vector<int> watches_;
  Instant first_ = kNever;  // of the changes that were not looked at
  Instant due_ = kNever;
};

}  // namespace damper::proxy
