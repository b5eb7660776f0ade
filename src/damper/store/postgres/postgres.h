#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/postgres/postgres_url.h"

namespace damper::store {

// PostgreSQL for stores of this library: a PgConnection is one session, a PgStatement is prepared
// at its first use, a PgResult is its rows.
//
//   constexpr PgStatement kFind{"find", "SELECT url FROM endpoint WHERE id = $1"};
//   auto found = connection.query({kFind, PgParameters().add(7)});
//   if (found && found->rows() == 1) use(found->text(0, 0));
//
// Why not libpq itself: a result that is not freed leaks, an error that is not checked is a write
// that did not happen, and texts of parameters have to be escaped. Here all values are binary.
// Model: calls block. Columns and parameters are bigint, text, bytea, boolean, and arrays of the
// first three; a query casts other types.
// Errors: no exceptions; a PgError has one sentence, without the password.
// Thread safety: none; each thread has a connection of its own.

struct PgError {
  std::string sentence;
  std::string state{};  // SQLSTATE; empty: there is no connection any more, or never was
  [[nodiscard]] bool is_lost() const noexcept { return state.empty(); }
};

template <class T>
using PgExpected = Expected<T, PgError>;

// Parameters $1, $2, and so on, in order. It owns copies of the values.
class PgParameters {
 public:
  PgParameters& add(std::int64_t value);
  PgParameters& add(bool value);
  PgParameters& add_text(std::string_view text);
  PgParameters& add_bytes(std::string_view bytes);
  PgParameters& add_null();  // of bigint
  PgParameters& add_array(std::span<const std::int64_t> values);
  PgParameters& add_texts(std::span<const std::string_view> texts);
  PgParameters& add_bytes_array(std::span<const std::string_view> bytes);

 private:
  friend class PgConnection;
  PgParameters& push(Oid type, std::string value);

  std::vector<Oid> types_;
  std::deque<std::string> values_;
  std::vector<bool> nulls_;
};

struct PgStatement {
  const char* name;
  const char* sql;
};

struct PgCall {
  PgStatement statement;
  PgParameters parameters{};
};

class PgResult {
 public:
  explicit PgResult(PGresult* result) noexcept : result_(result) {}

  [[nodiscard]] int rows() const noexcept { return PQntuples(result_.get()); }
  // Rows that it has inserted, updated or deleted.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] bool is_null(int row, int column) const noexcept;
  // REQUIRES: the column is a bigint; 0 if it is null.
  [[nodiscard]] std::int64_t number(int row, int column) const;
  [[nodiscard]] bool boolean(int row, int column) const;
  // Text or bytes.
  [[nodiscard]] std::string_view text(int row, int column) const noexcept;
  [[nodiscard]] PGresult* get() const noexcept { return result_.get(); }

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

struct PgNotification {
  std::string payload;
  bool own = false;  // sent by this connection
};

class PgConnection {
 public:
  // Waits for at most a few seconds. A connection whose peer is silent for 10 s is lost.
  [[nodiscard]] static PgExpected<std::unique_ptr<PgConnection>> open(const PostgresUrl& url);

  // One or more statements without parameters and results: settings, tables.
  [[nodiscard]] PgExpected<bool> execute(const std::string& sql);
  // One statement in a transaction of its own, or in the one that has begun.
  [[nodiscard]] PgExpected<PgResult> query(const PgCall& call);
  // All of them in one round trip (pipeline mode) and, if none has begun, one transaction. After an
  // error, none of them has an effect, and a transaction that has begun is to be rolled back.
  [[nodiscard]] PgExpected<std::vector<PgResult>> query_all(std::span<const PgCall> calls);

  // What LISTEN has brought and is not read yet. REQUIRES: input() since then.
  [[nodiscard]] std::optional<PgNotification> next_notification();
  // Reads what has arrived, without waiting.
  [[nodiscard]] PgExpected<bool> input();

  [[nodiscard]] int descriptor() const noexcept { return PQsocket(connection_.get()); }
  [[nodiscard]] bool is_lost() const noexcept {
    return broken_ || PQstatus(connection_.get()) != CONNECTION_OK;
  }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  PgConnection(PGconn* connection, PostgresUrl url)
      : connection_(connection), url_(std::move(url)) {}

  [[nodiscard]] PgError error(const PGresult* result = nullptr) const;
  // Once for each statement and session.
  [[nodiscard]] std::optional<PgError> prepare(const PgCall& call);
  [[nodiscard]] bool send(const PgCall& call);
  [[nodiscard]] PgExpected<std::vector<PgResult>> read_all();

  std::unique_ptr<PGconn, Finish> connection_;
  PostgresUrl url_;
  std::unordered_set<std::string> prepared_;
  bool broken_ = false;
};

}  // namespace damper::store
