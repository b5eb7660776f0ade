#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"

namespace damper::webhooks {

// A TestDisk is SQLite's default VFS as long as it lives: the real files, and faults.
//
// Model: for each file it keeps what its writes since the last sync have replaced. A loss of power
// makes all writes fail; when everything is closed, restore() puts back what was replaced, all of
// it or for each write as `survives` decides: a disk may write in any order.
// Thread safety: all methods may be called concurrently; restore() when all files are closed.
class TestDisk {
 public:
  TestDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    DAMPER_CHECK(current_ == nullptr);
    current_ = this;
    vfs_.zName = "damper-test-disk";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = &TestDisk::open;
    vfs_.xDelete = &TestDisk::remove;
    DAMPER_CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }
  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;
  ~TestDisk() {
    (void)sqlite3_vfs_unregister(&vfs_);
    (void)sqlite3_vfs_register(real_, 1);
    current_ = nullptr;
  }

  // Every write fails with this code; SQLITE_OK: none.
  void fail_writes(int code) { write_code_ = code; }
  void fail_syncs(int code) { sync_code_ = code; }
  void ignore_syncs() { ignores_syncs_ = true; }
  // The power fails at the n-th write or sync from now on.
  void lose_power_after(int operations) { until_loss_ = operations; }
  [[nodiscard]] bool lost_power() const { return until_loss_ == 0; }
  [[nodiscard]] int log_syncs() const { return log_syncs_; }

  // What is on the disk when the power is back.
  void restore(const std::function<bool()>& survives) {
    for (auto& [path, undos] : unsynced_) {
      const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (file < 0) continue;
      for (auto undo = undos.rbegin(); undo != undos.rend(); ++undo) {
        if (survives()) continue;
        DAMPER_CHECK(::pwrite(file, undo->bytes.data(), undo->bytes.size(), undo->offset) ==
                     static_cast<ssize_t>(undo->bytes.size()));
        if (undo->shrinks) DAMPER_CHECK(::ftruncate(file, undo->size) == 0);
      }
      (void)::close(file);
    }
    unsynced_.clear();
    until_loss_ = kNoLoss;
  }

 private:
  static constexpr int kNoLoss = -1;
  struct Undo {
    sqlite3_int64 offset;
    std::string bytes;   // what was there
    sqlite3_int64 size;  // of the file
    bool shrinks;        // the write has made the file larger
  };
  struct File {  // SQLite allocates it, and the real file behind it
    sqlite3_file base;
    std::vector<Undo>* undos;
    bool is_log;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return of(file).real(); }

  // Counts an operation that changes the disk. REQUIRES: the mutex.
  [[nodiscard]] bool has_power() {
    if (until_loss_ > 0) --until_loss_;
    return until_loss_ != 0;
  }
  void remember(File& file, sqlite3_int64 offset, sqlite3_int64 amount) {
    sqlite3_int64 size = 0;
    (void)file.real()->pMethods->xFileSize(file.real(), &size);
    Undo undo{offset, {}, size, offset + amount > size};
    if (offset < size) {
      undo.bytes.resize(static_cast<std::size_t>(std::min(amount, size - offset)));
      (void)file.real()->pMethods->xRead(file.real(), undo.bytes.data(),
                                         static_cast<int>(undo.bytes.size()), offset);
    }
    file.undos->push_back(std::move(undo));
  }

  static int open(sqlite3_vfs* /*vfs*/, const char* path, sqlite3_file* file, int flags,
                  int* out_flags) {
    TestDisk& disk = *current_;
    File& opened = of(file);
    opened.base.pMethods = nullptr;
    const int code = disk.real_->xOpen(disk.real_, path, opened.real(), flags, out_flags);
    if (code != SQLITE_OK) return code;
    const std::lock_guard lock(disk.mutex_);
    opened.undos = &disk.unsynced_[path == nullptr ? "" : path];
    opened.is_log = (flags & SQLITE_OPEN_WAL) != 0;
    opened.base.pMethods = &kMethods;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* /*vfs*/, const char* path, int sync_folder) {
    TestDisk& disk = *current_;
    const std::lock_guard lock(disk.mutex_);
    if (!disk.has_power()) return SQLITE_IOERR_DELETE;
    disk.unsynced_[path].clear();
    return disk.real_->xDelete(disk.real_, path, sync_folder);
  }
  static int write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
    TestDisk& disk = *current_;
    const std::lock_guard lock(disk.mutex_);
    if (!disk.has_power()) return SQLITE_IOERR_WRITE;
    if (disk.write_code_ != SQLITE_OK) return disk.write_code_;
    disk.remember(of(file), offset, amount);
    return real(file)->pMethods->xWrite(real(file), data, amount, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    TestDisk& disk = *current_;
    const std::lock_guard lock(disk.mutex_);
    if (!disk.has_power()) return SQLITE_IOERR_TRUNCATE;
    sqlite3_int64 before = 0;
    (void)real(file)->pMethods->xFileSize(real(file), &before);
    if (size < before) disk.remember(of(file), size, before - size);
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  static int sync(sqlite3_file* file, int flags) {
    TestDisk& disk = *current_;
    const std::lock_guard lock(disk.mutex_);
    if (!disk.has_power()) return SQLITE_IOERR_FSYNC;
    if (disk.sync_code_ != SQLITE_OK) return disk.sync_code_;
    if (of(file).is_log) ++disk.log_syncs_;
    if (disk.ignores_syncs_) return SQLITE_OK;
    of(file).undos->clear();
    (void)flags;  // The machine that runs the test does not lose power.
    return SQLITE_OK;
  }

  static inline TestDisk* current_ = nullptr;
  static inline const sqlite3_io_methods kMethods = {
      .iVersion = 2,  // with shared memory, without memory-mapped reads
      .xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
      .xRead =
          [](sqlite3_file* f, void* to, int amount, sqlite3_int64 offset) {
            return real(f)->pMethods->xRead(real(f), to, amount, offset);
          },
      .xWrite = &TestDisk::write,
      .xTruncate = &TestDisk::truncate,
      .xSync = &TestDisk::sync,
      .xFileSize = [](sqlite3_file* f,
                      sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
      .xLock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xLock(real(f), l); },
      .xUnlock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); },
      .xCheckReservedLock =
          [](sqlite3_file* f, int* out) {
            return real(f)->pMethods->xCheckReservedLock(real(f), out);
          },
      // No file control: SIZE_HINT would change the file behind our back.
      .xFileControl = [](sqlite3_file* /*f*/, int /*op*/,
                         void* /*arg*/) { return SQLITE_NOTFOUND; },
      .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
      .xDeviceCharacteristics =
          [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
      .xShmMap =
          [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
            return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
          },
      .xShmLock = [](sqlite3_file* f, int offset, int n,
                     int flags) { return real(f)->pMethods->xShmLock(real(f), offset, n, flags); },
      .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
      .xShmUnmap = [](sqlite3_file* f,
                      int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Undo>> unsynced_;  // by path; entries stay
  std::atomic<int> write_code_ = SQLITE_OK;
  std::atomic<int> sync_code_ = SQLITE_OK;
  std::atomic<bool> ignores_syncs_ = false;
  std::atomic<int> until_loss_ = kNoLoss;
  std::atomic<int> log_syncs_ = 0;
};

}  // namespace damper::webhooks
