#include "damper/store/sqlite.h"

namespace damper::store {
namespace {

[[noreturn]] void fail(sqlite3* database, int code) {
  throw DatabaseError{code, database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code)};
}
void check(sqlite3* database, int code) {
  if (code != SQLITE_OK) fail(database, code);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  (void)sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  check(database.get(), sqlite3_prepare_v3(database.get(), sql.data(), static_cast<int>(sql.size()),
                                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statement_.reset(statement);
}

Statement::Run::~Run() {
  (void)sqlite3_reset(statement_);
  (void)sqlite3_clear_bindings(statement_);
}

Statement::Run& Statement::Run::bind(std::int64_t value) {
  check(sqlite3_db_handle(statement_), sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement::Run& Statement::Run::bind(std::string_view bytes) {
  // A null pointer would bind NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  check(sqlite3_db_handle(statement_),
        sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

Statement::Run& Statement::Run::bind_text(std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  check(sqlite3_db_handle(statement_),
        sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

bool Statement::Run::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(sqlite3_db_handle(statement_), code);
  return false;
}

bool Statement::Run::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Statement::Run::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::Run::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}

void Database::Close::operator()(sqlite3* database) const noexcept {
  (void)sqlite3_close_v2(database);
}

Database::Database(const std::string& path, std::chrono::milliseconds lock_timeout) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);  // Also after a failure: it has the error message.
  check(database, code);
  (void)sqlite3_extended_result_codes(database, 0);
  (void)sqlite3_busy_timeout(database, static_cast<int>(lock_timeout.count()));
}

void Database::execute(const std::string& sql) {
  check(get(), sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t Database::query_number(const std::string& sql) {
  const Statement statement(*this, sql);
  Statement::Run run(statement);
  return run.step() ? run.number(0) : 0;
}

std::string Database::query_text(const std::string& sql) {
  const Statement statement(*this, sql);
  Statement::Run run(statement);
  return run.step() ? std::string(run.bytes(0)) : std::string();
}

std::int64_t Database::changes() const noexcept { return sqlite3_changes64(get()); }

Transaction::~Transaction() {
  if (!committed_) (void)sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  committed_ = true;
}

ReadTransaction::~ReadTransaction() {
  (void)sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace damper::store
