#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace damper::store {

// SQLite for stores of this library: a Database is one open file, a Statement is prepared once and
// run many times, a Transaction is atomic.
//
//   Database database("webhooks.db", std::chrono::milliseconds(100));
//   Statement find(database, "SELECT url FROM endpoint WHERE id = ?1");
//   Statement::Run run(find);
//   if (run.bind(7).step()) use(run.bytes(0));
//
// Why not sqlite3.h itself: a statement that is not reset keeps its transaction open, and an error
// code that is not checked is a write that did not happen. Here both follow from scopes.
// Errors: every call but those that are noexcept throws DatabaseError; a store catches it.
// Thread safety: none; each thread opens a Database of its own.

struct DatabaseError {
  int code;  // SQLITE_BUSY, SQLITE_FULL and so on
  std::string text;
};

class Database {
 public:
  // Opens or creates the file. A call waits for another process's lock up to `lock_timeout`, then
  // it fails with SQLITE_BUSY.
  Database(const std::string& path, std::chrono::milliseconds lock_timeout);
  void execute(const std::string& sql);
  // The first column of the first row; 0 or empty without a row.
  [[nodiscard]] std::int64_t query_number(const std::string& sql);
  [[nodiscard]] std::string query_text(const std::string& sql);
  // Rows that the last statement has inserted, updated or deleted.
  [[nodiscard]] std::int64_t changes() const noexcept;
  [[nodiscard]] sqlite3* get() const noexcept { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

// A prepared statement. The database outlives it.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);

  // One execution; its destructor resets the statement.
  class Run {
   public:
    explicit Run(const Statement& statement) noexcept : statement_(statement.statement_.get()) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run();
    // The parameters from ?1 on, in order. Bound bytes outlive the run.
    Run& bind(std::int64_t value);
    Run& bind(std::string_view bytes);
    Run& bind_text(std::string_view text);  // for a TEXT column of a STRICT table
    // Moves to the next row; false: there is none.
    bool step();
    [[nodiscard]] bool is_null(int column) const;
    [[nodiscard]] std::int64_t number(int column) const;
    [[nodiscard]] std::string_view bytes(int column) const;  // valid until the next step()

   private:
    sqlite3_stmt* statement_;
    int bound_ = 0;
  };

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Rolled back by its destructor unless commit() was called.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool committed_ = false;
};

// Several reads of one state of the database.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) { database_.execute("BEGIN"); }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction();

 private:
  Database& database_;
};

}  // namespace damper::store
