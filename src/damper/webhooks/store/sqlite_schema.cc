#include "damper/webhooks/store/sqlite_schema.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace damper::webhooks {
namespace {

constexpr std::int64_t kWebhooksFile = 0x64'6d'70'77;  // "dmpw"
constexpr std::int64_t kSchemaVersion = 3;
constexpr std::chrono::milliseconds kLockTimeout{5000};  // An operator's sqlite3 may hold a lock.

// endpoint_state.failing_since: 0 if it does not fail.
// delivery.behind: another delivery of its endpoint and ordering key has an older message. It
// comes before `due` in the key, so that no claim reads the ones that wait for another.
constexpr const char* kTables = R"sql(
CREATE TABLE application (name TEXT PRIMARY KEY, created INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE endpoint (
  id INTEGER PRIMARY KEY, application TEXT NOT NULL, created INTEGER NOT NULL,
  ordered INTEGER NOT NULL, config BLOB NOT NULL) STRICT;
CREATE INDEX endpoint_by_application ON endpoint (application);

CREATE TABLE endpoint_state (
  endpoint INTEGER PRIMARY KEY, blocked_until INTEGER NOT NULL, open_until INTEGER NOT NULL,
  trips INTEGER NOT NULL, failing_since INTEGER NOT NULL) STRICT;

CREATE TABLE removed_endpoint (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE removed_application (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE message (
  id INTEGER PRIMARY KEY, application TEXT NOT NULL, type TEXT NOT NULL, channel TEXT NOT NULL,
  ordering_key TEXT NOT NULL, idempotency_key TEXT NOT NULL, created INTEGER NOT NULL,
  payload BLOB NOT NULL) STRICT;
CREATE INDEX message_by_application ON message (application);
CREATE INDEX message_by_type ON message (application, type);
CREATE UNIQUE INDEX message_by_key ON message (application, idempotency_key)
  WHERE idempotency_key <> '';

CREATE TABLE delivery (
  endpoint INTEGER NOT NULL, behind INTEGER NOT NULL, due INTEGER NOT NULL,
  message INTEGER NOT NULL, attempts INTEGER NOT NULL, previous_delay INTEGER NOT NULL,
  ordering_key TEXT NOT NULL,
  PRIMARY KEY (endpoint, behind, due, message)) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_message ON delivery (message, endpoint);
CREATE INDEX delivery_by_key ON delivery (endpoint, ordering_key, message)
  WHERE ordering_key <> '';

CREATE TABLE attempt (
  number INTEGER PRIMARY KEY, message INTEGER NOT NULL, endpoint INTEGER NOT NULL,
  attempt INTEGER NOT NULL, time INTEGER NOT NULL, duration INTEGER NOT NULL,
  status INTEGER NOT NULL, outcome TEXT NOT NULL, error TEXT NOT NULL,
  answer BLOB NOT NULL) STRICT;
CREATE INDEX attempt_by_message ON attempt (message);
CREATE INDEX attempt_by_endpoint ON attempt (endpoint);

CREATE TABLE dead (
  endpoint INTEGER NOT NULL, message INTEGER NOT NULL, time INTEGER NOT NULL,
  attempts INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (endpoint, message)) STRICT, WITHOUT ROWID;
CREATE INDEX dead_by_message ON dead (message);
CREATE INDEX dead_by_time ON dead (time);
)sql";

// Of version 2.
constexpr const char* kSettings =
    "CREATE TABLE setting (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID";

// Of version 3: traceparent is of the trace that a message belongs to; since is from when the age
// of a delivery counts that was redriven, 0: from its message's creation.
constexpr const char* kTracesAndSince =
    "ALTER TABLE message ADD COLUMN traceparent TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE delivery ADD COLUMN since INTEGER NOT NULL DEFAULT 0";

std::string errno_text() { return std::generic_category().message(errno); }

std::string not_opened(const std::string& path, const std::string& why) {
  return "the webhook store '" + path + "' cannot be opened: " + why;
}

std::optional<std::string> find_foreign(store::Database& file) {
  if (file.query_number("PRAGMA application_id") != kWebhooksFile) {
    return "it is the database of something else";
  }
  const std::int64_t version = file.query_number("PRAGMA user_version");
  if (version > kSchemaVersion) {
    return "it has version " + std::to_string(version) + ", this program knows versions up to " +
           std::to_string(kSchemaVersion);
  }
  return std::nullopt;
}

void create_tables(store::Database& file) {
  file.execute("PRAGMA journal_mode = WAL");
  store::Transaction transaction(file);
  file.execute(kTables);
  file.execute(kSettings);
  file.execute(kTracesAndSince);
  file.execute("PRAGMA application_id = " + std::to_string(kWebhooksFile));
  file.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  transaction.commit();
}

// Adds what versions before this one do not have.
void upgrade(store::Database& file) {
  const std::int64_t version = file.query_number("PRAGMA user_version");
  if (version >= kSchemaVersion) return;
  store::Transaction transaction(file);
  if (version < 2) file.execute(kSettings);
  if (version < 3) file.execute(kTracesAndSince);
  file.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  transaction.commit();
}

}  // namespace

// An existing file is not opened: to close it would release SQLite's locks, if another store of
// this process has it.
Expected<std::string> find_real_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error == std::errc::no_such_file_or_directory) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return unexpected(not_opened(path, errno_text()));
    (void)::close(descriptor);
    real = std::filesystem::canonical(path, error);
  }
  const std::uintmax_t links = error ? 0 : std::filesystem::hard_link_count(real, error);
  if (error) return unexpected(not_opened(path, error.message()));
  if (links > 1) {
    return unexpected(
        not_opened(path, "it has " + std::to_string(links) + " hard links, and may have only one"));
  }
  return real.string();
}

Expected<OwnerLock> OwnerLock::take(const std::string& path) {
  const std::string file = path + ".lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return unexpected(not_opened(path, "its lock file cannot be opened: " + errno_text()));
  }
  OwnerLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return unexpected(not_opened(
        path, errno == EWOULDBLOCK ? "another dispatcher uses it" : "flock: " + errno_text()));
  }
  return lock;
}

OwnerLock::OwnerLock(OwnerLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

OwnerLock::~OwnerLock() {
  if (descriptor_ >= 0) (void)::close(descriptor_);
}

Expected<bool> prepare_file(const std::string& path) {
  // SQLite gives the log and the shared memory the mode of the file.
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return unexpected(not_opened(path, errno_text()));
  (void)::close(descriptor);
  try {
    store::Database file(path, kLockTimeout);
    const bool empty = file.query_number("SELECT count(*) FROM sqlite_schema") == 0;
    if (!empty) {
      if (const auto why = find_foreign(file)) return unexpected(not_opened(path, *why));
    }
    if (::chmod(path.c_str(), 0600) != 0) return unexpected(not_opened(path, errno_text()));
    if (empty) {
      create_tables(file);
    } else {
      upgrade(file);
    }
    return true;
  } catch (const store::DatabaseError& error) {
    return unexpected(not_opened(path, error.text));
  }
}

std::unique_ptr<store::Database> open_writer(const std::string& path) {
  auto file = std::make_unique<store::Database>(path, kLockTimeout);
  file->execute("PRAGMA journal_mode = WAL");
  file->execute("PRAGMA synchronous = FULL");
  file->execute("PRAGMA wal_autocheckpoint = 0");  // see SqliteCheckpoints
  file->execute("PRAGMA journal_size_limit = 67108864");
  file->execute("PRAGMA cache_size = -32768");  // KiB
  file->execute("PRAGMA temp_store = MEMORY");
  return file;
}

std::unique_ptr<store::Database> open_reader(const std::string& path) {
  auto file = std::make_unique<store::Database>(path, kLockTimeout);
  file->execute("PRAGMA query_only = ON");
  file->execute("PRAGMA cache_size = -16384");  // KiB
  file->execute("PRAGMA temp_store = MEMORY");
  return file;
}

}  // namespace damper::webhooks
