#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/store/sqlite.h"

namespace damper::webhooks {

// The file of a SqliteStore: its owner, its tables, its settings. docs/design/0034 has the reasons.
//
// Columns: an Id is its number, a time is milliseconds since 1970, a duration nanoseconds. Empty
// text is '', never NULL.

// The path of the file without symbolic links: by it, all dispatchers have the same lock file and
// write-ahead log. The file is created if there is none. A sentence if that fails, or if the file
// has several hard links: each of them would have a lock and a log of its own.
[[nodiscard]] Expected<std::string> find_real_path(const std::string& path);

// An OwnerLock is the right to use a file: one process has it. The kernel releases it when the
// process ends, however it ends.
class OwnerLock {
 public:
  // Locks `path`.lock, which is created and stays. A sentence if another store has it. REQUIRES:
  // `path` is of find_real_path().
  [[nodiscard]] static Expected<OwnerLock> take(const std::string& path);
  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

 private:
  explicit OwnerLock(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_;
};

// Creates the file, readable by its owner alone, or checks that it is a webhook store of this
// version or one before, and creates the tables. A sentence otherwise; a file that is not ours is
// not changed.
// REQUIRES: the caller has the OwnerLock.
[[nodiscard]] Expected<bool> prepare_file(const std::string& path);

// A connection for writes: write-ahead log, synced by each commit.
[[nodiscard]] std::unique_ptr<store::Database> open_writer(const std::string& path);
// A connection that cannot write.
[[nodiscard]] std::unique_ptr<store::Database> open_reader(const std::string& path);

[[nodiscard]] constexpr std::int64_t ms(UnixTime time) noexcept {
  return time.time_since_epoch().count();
}
[[nodiscard]] constexpr UnixTime unix_time(std::int64_t ms) noexcept {
  return UnixTime{std::chrono::milliseconds(ms)};
}

}  // namespace damper::webhooks
