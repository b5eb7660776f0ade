#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "damper/store/sqlite.h"
#include "damper/webhooks/store/store_thread.h"

namespace damper::webhooks {

struct CheckpointLimits {
  int pages = 4'000;  // of the log that are not yet copied, for a checkpoint beside the writer
  int most_pages = 16'000;  // of the log, 64 MiB: then the writer completes a checkpoint
};

// SqliteCheckpoints copy the pages of the write-ahead log to the database file.
//
// Why not wal_autocheckpoint: the connection that commits would copy thousands of pages and sync
// the file before its next commit, and all that wait for a commit would wait for it: 50 to 130 ms.
// Model: a thread with its own connection copies while the writer appends to the log. The log
// starts from its beginning only if all of it is copied when a transaction begins. Under load that
// would never be so: when it has most_pages, the writer copies what the thread has left.
// Durability: a checkpoint changes none. SQLite syncs the log before it copies, and the file before
// the log is overwritten.
// Errors: a checkpoint that fails is repeated after a later commit; the log has everything.
// Thread safety: none; on the writer's thread.
class SqliteCheckpoints {
 public:
  // The writer outlives it. No other hook is registered at the writer.
  SqliteCheckpoints(store::Database& writer, const std::string& path, CheckpointLimits limits);
  SqliteCheckpoints(const SqliteCheckpoints&) = delete;
  SqliteCheckpoints& operator=(const SqliteCheckpoints&) = delete;
  ~SqliteCheckpoints();

  // After a commit, when its callers have their answers.
  void on_committed();

 private:
  static int on_commit(void* self, sqlite3* writer, const char* schema, int pages);
  void copy_beside();

  store::Database& writer_;
  const CheckpointLimits limits_;
  std::unique_ptr<store::Database> beside_;
  int pages_ = 0;   // of the log, after the last commit
  int copied_ = 0;  // of them, when the last checkpoint began
  std::atomic<bool> copying_ = false;
  StoreThread thread_;  // last: it uses the others
};

}  // namespace damper::webhooks
