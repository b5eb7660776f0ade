#include "damper/webhooks/store/sqlite_checkpoints.h"

#include <utility>

#include "damper/webhooks/store/sqlite_schema.h"

namespace damper::webhooks {
namespace {

// PASSIVE: it waits for no reader or writer, and none waits for it.
void copy_log(const store::Database& file) noexcept {
  (void)sqlite3_wal_checkpoint_v2(file.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void execute_checkpoints(StoreThread::Batch batch) {
  for (const auto& operation : batch) {
    operation->run();
    operation->finish(nullptr);
  }
}

}  // namespace

SqliteCheckpoints::SqliteCheckpoints(store::Database& writer, const std::string& path,
                                     CheckpointLimits limits)
    : writer_(writer),
      limits_(limits),
      beside_(open_writer(path)),
      thread_({}, execute_checkpoints) {
  (void)sqlite3_wal_hook(writer_.get(), &SqliteCheckpoints::on_commit, this);
  (void)sqlite3_wal_hook(beside_->get(), nullptr, nullptr);
}

SqliteCheckpoints::~SqliteCheckpoints() {
  (void)sqlite3_wal_hook(writer_.get(), nullptr, nullptr);
  thread_.stop();
}

int SqliteCheckpoints::on_commit(void* self, sqlite3* /*writer*/, const char* /*schema*/,
                                 int pages) {
  static_cast<SqliteCheckpoints*>(self)->pages_ = pages;
  return SQLITE_OK;
}

void SqliteCheckpoints::on_committed() {
  if (pages_ < copied_) copied_ = 0;  // The log has started from its beginning.
  if (copying_.load(std::memory_order_acquire)) return;
  if (pages_ >= limits_.most_pages) {
    copied_ = pages_;
    copy_log(writer_);
  } else if (pages_ - copied_ >= limits_.pages) {
    copied_ = pages_;
    copy_beside();
  }
}

void SqliteCheckpoints::copy_beside() {
  auto work = [this] {
    copy_log(*beside_);
    return Expected<Store::Nothing, StoreError>(Store::Nothing{});
  };
  copying_.store(true, std::memory_order_relaxed);
  std::unique_ptr<StoreOperation> operation =
      std::make_unique<StoreOperationOf<Store::Nothing, decltype(work)>>(
          0, std::move(work), [this](const Expected<Store::Nothing, StoreError>& /*done*/) {
            copying_.store(false, std::memory_order_release);
          });
  if (thread_.try_push(operation)) copying_.store(false, std::memory_order_relaxed);
}

}  // namespace damper::webhooks
