#ifndef DAMPER_STORE_SQLITE_H_
#define DAMPER_STORE_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::store {

// Thrown by what is below, and caught by the store: the database did not do it.
struct DatabaseError {
  int code;
  std::string text;
};

// A prepared statement, ready to be run again when the Run ends.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  class Run {
   public:
    explicit Run(const Statement& statement) noexcept : statement_(statement.statement_.get()) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run();
    // The parameters from ?1 on, in order. What is bound lives as long as the run.
    Run& bind(std::int64_t value);
    Run& bind(std::string_view bytes);
    // The next row; false: there is none.
    bool step();
    [[nodiscard]] bool is_null(int column) const;
    [[nodiscard]] std::int64_t number(int column) const;
    [[nodiscard]] std::string_view bytes(int column) const;  // until the next step

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

// An open file of SQLite.
class SqliteFile {
 public:
  // Throws DatabaseError.
  SqliteFile(const std::string& path, int patience_ms);
  void run(const std::string& sql);
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::string text(const std::string& sql);
  [[nodiscard]] std::int64_t changes() const noexcept;
  [[nodiscard]] sqlite3* get() const noexcept { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

// All or nothing: rolled back unless it was committed.
class Transaction {
 public:
  explicit Transaction(SqliteFile& file) : file_(file) { file_.run("BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  SqliteFile& file_;
  bool over_ = false;
};

}  // namespace damper::store

#endif  // DAMPER_STORE_SQLITE_H_
