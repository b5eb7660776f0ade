#include "damper/proxy/process/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace damper::proxy {
namespace {

constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |
                                   IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr int kMostLinks = 8;  // that one leads to the next

// The folders whose entries decide what the name leads to.
std::set<std::string> folders_of(const std::string& file) {
  namespace fs = std::filesystem;
  std::set<std::string> out;
  std::error_code error;
  fs::path at = fs::absolute(file, error);
  if (error) at = file;
  for (int i = 0; i < kMostLinks; ++i) {
    out.insert(at.parent_path().string());
    if (!fs::is_symlink(at, error)) break;
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  const fs::path real = fs::canonical(file, error);
  if (!error) out.insert(real.parent_path().string());
  return out;
}

// Of the folder, or, while it is not there, of the nearest above it, which says when it is made.
int watch_nearest(int fd, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  int watch = -1;
  for (int i = 0; i < kMostLinks; ++i) {
    fs::path at = folder;
    fs::path below;
    while ((watch = inotify_add_watch(fd, at.c_str(), kChanges)) < 0 && at.has_relative_path()) {
      below = std::exchange(at, at.parent_path());
    }
    // One that was made before the one above it was watched is looked for again.
    if (below.empty() || !fs::exists(below, error)) break;
  }
  return watch;
}

}  // namespace

FileWatch::FileWatch(std::string file)
    : file_(std::move(file)), fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  watch_folders();
}

FileWatch::~FileWatch() {
  if (fd_ >= 0) close(fd_);
}

void FileWatch::watch_folders() {
  if (fd_ < 0) return;
  std::vector<int> watches;
  for (const std::string& folder : folders_of(file_)) {
    const int watch = watch_nearest(fd_, folder);
    if (watch >= 0) watches.push_back(watch);
  }
  for (const int before : watches_) {
    if (std::find(watches.begin(), watches.end(), before) == watches.end()) {
      (void)inotify_rm_watch(fd_, before);
    }
  }
  watches_ = std::move(watches);
}

void FileWatch::on_ready(Instant now) {
  alignas(inotify_event) std::array<char, std::size_t{16} * 1024> bytes{};
  bool any = false;
  for (int i = 0; i < 64; ++i) {  // What happened does not matter: the content is compared.
    if (read(fd_, bytes.data(), bytes.size()) <= 0) break;
    any = true;
  }
  if (!any) return;
  if (first_ == kNever) first_ = now;
  due_ = std::min(add(now, kQuiet), add(first_, kLongestWait));
}

void FileWatch::on_look() {
  first_ = kNever;
  due_ = kNever;
  watch_folders();
}

}  // namespace damper::proxy
