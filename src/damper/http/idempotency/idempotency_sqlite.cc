#include "damper/http/idempotency/idempotency_sqlite.h"

#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "damper/base/check.h"
#include "damper/store/sqlite.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kApplication = 0x64'6d'70'69;  // "dmpi"
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kPage = 4096;

// status is NULL while the request is under way; `until` is the end of the lease then, and of the
// retention after.
constexpr const char* kSchema =
    "CREATE TABLE entries (key BLOB PRIMARY KEY, request BLOB NOT NULL, token INTEGER NOT NULL,"
    " until INTEGER NOT NULL, status INTEGER, fields BLOB, body BLOB) WITHOUT ROWID;"
    "CREATE INDEX answered ON entries (until) WHERE status IS NOT NULL;";

std::string_view view(const Fingerprint& request) {
  return {std::bit_cast<const char*>(request.data()), request.size()};
}

// Fields as lines, as they would stand in a message; none of them has a line's end in it.
std::string encode(const FieldList& fields) {
  std::string text;
  for (const Field& field : fields.view()) {
    text.append(field.name).append(":").append(field.value).append("\n");
  }
  return text;
}
FieldList decode(std::string_view text) {
  FieldList fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        valid_field(line.substr(0, colon), line.substr(colon + 1))) {
      fields.add(line.substr(0, colon), line.substr(colon + 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

std::int64_t ms(UnixTime time) { return time.time_since_epoch().count(); }
std::int64_t ms(Duration length) { return std::chrono::floor<milliseconds>(length).count(); }

std::uint64_t random_token() {
  std::uint64_t token = 0;
  while (token == 0) {
    DAMPER_CHECK(RAND_bytes(std::bit_cast<unsigned char*>(&token), sizeof token) == 1);
    token &= 0x7fff'ffff'ffff'ffff;
  }
  return token;
}

}  // namespace

class SqliteStore::Database {
 public:
  explicit Database(const SqliteStoreOptions& options)
      : file(options.path, std::chrono::milliseconds(ms(options.lock_timeout))),
        prepared(prepare(file, options)) {}

  store::Database file;
  bool prepared;  // before the statements, which need the table
  store::Statement find{file,
                        "SELECT request, token, until, status, fields, body FROM entries"
                        " WHERE key = ?1"};
  store::Statement insert{file,
                          "INSERT OR REPLACE INTO entries (key, request, token, until)"
                          " VALUES (?1, ?2, ?3, ?4)"};
  store::Statement complete{file,
                            "UPDATE entries SET until = ?3, status = ?4, fields = ?5,"
                            " body = ?6 WHERE key = ?1 AND token = ?2 AND status IS NULL"};
  store::Statement release{file,
                           "DELETE FROM entries WHERE key = ?1 AND token = ?2 AND status IS NULL"};
  store::Statement purge{file,
                         "DELETE FROM entries WHERE key IN (SELECT key FROM entries"
                         " WHERE status IS NOT NULL AND until <= ?1 ORDER BY until LIMIT 8)"};
  store::Statement evict{file,
                         "DELETE FROM entries WHERE key IN (SELECT key FROM entries"
                         " WHERE status IS NOT NULL ORDER BY until LIMIT ?1)"};

 private:
  static bool prepare(store::Database& file, const SqliteStoreOptions& options) {
    const std::int64_t application = file.query_number("PRAGMA application_id");
    const bool empty = file.query_number("SELECT count(*) FROM sqlite_schema") == 0;
    if (!empty && application != kApplication) {
      throw store::DatabaseError{SQLITE_NOTADB, "it is the database of something else"};
    }
    if (!empty && file.query_number("PRAGMA user_version") != kVersion) {
      throw store::DatabaseError{SQLITE_NOTADB, "it was written by another version"};
    }
    if (!empty && options.check_at_open && file.query_text("PRAGMA quick_check(1)") != "ok") {
      throw store::DatabaseError{SQLITE_CORRUPT, "it is damaged"};
    }
    file.execute("PRAGMA journal_mode = WAL");
    file.execute(options.survives_power_loss ? "PRAGMA synchronous = FULL"
                                             : "PRAGMA synchronous = NORMAL");
    file.execute("PRAGMA max_page_count = " + std::to_string(options.most_bytes / kPage));
    file.execute("PRAGMA journal_size_limit = 1048576");
    if (empty) {
      store::Transaction transaction(file);
      if (file.query_number("SELECT count(*) FROM sqlite_schema") ==
          0) {  // No other process has done it.
        file.execute(kSchema);
        file.execute("PRAGMA application_id = " + std::to_string(kApplication));
        file.execute("PRAGMA user_version = " + std::to_string(kVersion));
      }
      transaction.commit();
    }
    return true;
  }
};

std::optional<std::string> find_error(const SqliteStoreOptions& options) {
  return BoundsCheck()
      .require(!options.path.empty(), "path is empty; it must name a file")
      .field("most_entries", options.most_entries, options.kMostEntries)
      .field("most_bytes", options.most_bytes, options.kMostBytes)
      .field("retention", options.retention, options.kRetention)
      .field("lease", options.lease, options.kLease)
      .field("lock_timeout", options.lock_timeout, options.kLockTimeout)
      .error();
}

Expected<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteStoreOptions& options) {
  if (auto error = find_error(options)) return unexpected(*std::move(error));
  try {
    auto database = std::make_unique<Database>(options);
    return std::unique_ptr<SqliteStore>(new SqliteStore(options, std::move(database)));
  } catch (const store::DatabaseError& error) {
    return unexpected("the idempotency store '" + options.path + "' cannot be opened: " +
                      error.text + "; move the file away to start with an empty one");
  }
}

SqliteStore::SqliteStore(const SqliteStoreOptions& options, std::unique_ptr<Database> database)
    : options_(options),
      database_(std::move(database)),
      entries_(database_->file.query_number("SELECT count(*) FROM entries")) {}

SqliteStore::~SqliteStore() = default;

// Does `work` in a transaction, which is all or nothing. When the file is full it does it again
// after more and more of the oldest answers have gone: in the same transaction, so that they are
// still there if it is of no use.
template <class Work>
auto SqliteStore::in_transaction(const Work& work) {
  const std::int64_t before = entries_;
  for (std::int64_t room = 0;; room = room == 0 ? before / 100 + 1 : room * 2) {
    entries_ = before;
    expired_ = evicted_ = 0;
    bool more = true;
    try {
      store::Transaction transaction(database_->file);
      if (room > 0) more = evict(room) == room;
      auto result = work();
      transaction.commit();
      tally_.expirations.fetch_add(expired_, std::memory_order_relaxed);
      tally_.evictions.fetch_add(evicted_, std::memory_order_relaxed);
      tally_.entries.store(static_cast<std::uint64_t>(std::max<std::int64_t>(entries_, 0)),
                           std::memory_order_relaxed);
      return result;
    } catch (const store::DatabaseError& error) {
      if (error.code == SQLITE_FULL && more) continue;
      tally_.errors.fetch_add(1, std::memory_order_relaxed);
      entries_ = options_.most_entries;  // To be counted again.
      throw;
    }
  }
}

IdempotencyStore::Claim SqliteStore::claim(std::string_view key, const Fingerprint& request,
                                           UnixTime now) {
  try {
    Claim claim = in_transaction([&] { return claim_in_transaction(key, request, now); });
    if (claim.state == KeyState::first) own_.insert(claim.token);
    if (claim.state == KeyState::replayed) forget(std::exchange(claim.token, 0));  // It was done_.
    if (claim.recovered) tally_.recovered.fetch_add(1, std::memory_order_relaxed);
    return counted(std::move(claim));
  } catch (const store::DatabaseError& error) {
    return counted({.state = error.code == SQLITE_FULL ? KeyState::full : KeyState::broken});
  }
}

IdempotencyStore::Claim SqliteStore::claim_in_transaction(std::string_view key,
                                                          const Fingerprint& request,
                                                          UnixTime now) {
  {
    store::Statement::Run purge(database_->purge);
    (void)purge.bind(ms(now)).step();
    const std::int64_t gone = database_->file.changes();
    entries_ -= gone;
    expired_ += static_cast<std::uint64_t>(gone);
  }
  bool recovered = false;
  std::uint64_t done = 0;
  {
    store::Statement::Run found(database_->find);
    if (found.bind(key).step()) {
      const bool answered = !found.is_null(3);
      const bool over = found.number(2) <= ms(now);
      const auto owner = static_cast<std::uint64_t>(found.number(1));
      const bool ours = own_.contains(owner);
      if (!answered && done_.contains(owner) && found.bytes(0) == view(request)) {
        done = owner;
      } else if (answered ? !over : ours || !over) {
        if (found.bytes(0) != view(request)) return {.state = KeyState::mismatch};
        if (!answered) return {.state = KeyState::under_way};
        Claim claim{.state = KeyState::replayed};
        claim.answer.emplace();
        claim.answer->status = static_cast<int>(found.number(3));
        const std::string_view fields = found.bytes(4);
        const std::size_t end = fields.starts_with('\n') ? 0 : fields.find("\n\n") + 1;
        claim.answer->fields = decode(fields.substr(0, end));
        claim.answer->trailers = decode(fields.substr(std::min(end + 1, fields.size())));
        claim.answer->body = std::string(found.bytes(5));
        return claim;
      } else {
        recovered = !answered;
        --entries_;
      }
    }
  }
  if (done != 0) {
    (void)complete_in_transaction(key, done, answer_not_kept(), now);
    return {.state = KeyState::replayed, .token = done, .answer = answer_not_kept()};
  }
  if (entries_ >= options_.most_entries && !make_room()) return {.state = KeyState::full};
  const std::uint64_t token = random_token();
  store::Statement::Run insert(database_->insert);
  (void)insert.bind(key)
      .bind(view(request))
      .bind(static_cast<std::int64_t>(token))
      .bind(ms(now) + ms(options_.lease))
      .step();
  ++entries_;
  return {.state = KeyState::first, .token = token, .recovered = recovered};
}

bool SqliteStore::make_room() {
  entries_ = database_->file.query_number("SELECT count(*) FROM entries");
  if (entries_ < options_.most_entries) return true;
  (void)evict(entries_ - options_.most_entries + 1 + options_.most_entries / 100);
  return entries_ < options_.most_entries;
}

// How many of the oldest answers there were to go.
std::int64_t SqliteStore::evict(std::int64_t count) {
  store::Statement::Run evict(database_->evict);
  (void)evict.bind(count).step();
  const std::int64_t gone = database_->file.changes();
  entries_ -= gone;
  evicted_ += static_cast<std::uint64_t>(gone);
  return gone;
}

void SqliteStore::forget(std::uint64_t token) {
  own_.erase(token);
  done_.erase(token);
}

bool SqliteStore::complete_in_transaction(std::string_view key, std::uint64_t token,
                                          const Response& answer, UnixTime now) {
  const std::string fields = encode(answer.fields) + "\n" + encode(answer.trailers);
  store::Statement::Run run(database_->complete);
  (void)run.bind(key)
      .bind(static_cast<std::int64_t>(token))
      .bind(ms(now) + ms(options_.retention))
      .bind(answer.status)
      .bind(std::string_view(fields))
      .bind(std::string_view(answer.body))
      .step();
  return database_->file.changes() == 1;
}

bool SqliteStore::complete(std::string_view key, std::uint64_t token, const Response& answer,
                           UnixTime now) {
  const bool too_large = static_cast<std::int64_t>(answer.body.size()) > options_.most_bytes / 2;
  for (const bool whole : {true, false}) {
    if (whole && too_large) continue;
    try {
      const bool stored = in_transaction([&] {
        return complete_in_transaction(key, token, whole ? answer : answer_not_kept(), now);
      });
      forget(token);
      if (stored && !whole) tally_.unkept.fetch_add(1, std::memory_order_relaxed);
      if (!stored) tally_.lost.fetch_add(1, std::memory_order_relaxed);
      return stored;
    } catch (const store::DatabaseError& error) {
      if (error.code == SQLITE_BUSY) break;  // A shorter one would be no better.
    }
  }
  done_.insert(token);  // It stays in own_ too: it was carried out, and is not to be again.
  return false;
}

void SqliteStore::release(std::string_view key, std::uint64_t token) {
  forget(token);
  try {
    store::Statement::Run run(database_->release);
    (void)run.bind(key).bind(static_cast<std::int64_t>(token)).step();
    if (database_->file.changes() == 1) {
      --entries_;
    } else {
      tally_.lost.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (const store::DatabaseError&) {
    tally_.errors.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace damper::http
