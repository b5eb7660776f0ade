#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// The difference of the database's clock and this host's, so that hosts with different clocks agree
// on what is due.
// Invariants: (1) to_database() is at most as late as the database's clock will be then: what was
// due when it was written is due for a claim after it.
// Thread safety: all methods may be called concurrently.
class DatabaseClock {
 public:
  // `simulated`: the caller's times are the database's, and claims are by the caller's `now`.
  explicit DatabaseClock(bool simulated) noexcept : simulated_(simulated) {}
  [[nodiscard]] bool is_simulated() const noexcept { return simulated_; }
  // The database's clock was `database` at most a moment before this host's was `host`.
  void set(std::int64_t database, UnixTime host) noexcept;
  [[nodiscard]] std::int64_t to_database(UnixTime time) const noexcept;
  [[nodiscard]] UnixTime to_host(std::int64_t ms) const noexcept;

 private:
  const bool simulated_;
  std::atomic<std::int64_t> ahead_ms_{0};
};

// A PostgresSession is a thread's connection to the database, opened again when it is lost.
//
// Model: the first use after a loss connects at once; after a failure there is a pause, jittered
// and longer each time, in which every use fails with the same error.
// Thread safety: none; on its thread.
class PostgresSession {
 public:
  enum class Kind : std::uint8_t {
    writes,  // durable
    claims,  // a claim that a crash of the server forgets costs a second delivery, and no sync
    lists,
    watch,  // with LISTEN
  };
  PostgresSession(store::PostgresUrl url, std::string schema, Kind kind)
      : url_(std::move(url)), schema_(std::move(schema)), kind_(kind) {}

  [[nodiscard]] store::PgExpected<store::PgConnection*> connect();
  [[nodiscard]] store::PgExpected<store::PgResult> query(const store::PgCall& call);
  [[nodiscard]] store::PgExpected<std::vector<store::PgResult>> query_all(
      std::span<const store::PgCall> calls);

  // Of the dispatcher whose transactions these are.
  void set_dispatcher(std::int64_t number) noexcept { dispatcher_ = number; }
  [[nodiscard]] std::int64_t dispatcher() const noexcept { return dispatcher_; }
  [[nodiscard]] std::int64_t next_mark() noexcept { return ++marks_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  // Counts connections: another number means another session.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] StoreError unavailable(const store::PgError& error) const;

 private:
  [[nodiscard]] std::string settings() const;

  const store::PostgresUrl url_;
  const std::string schema_;
  const Kind kind_;
  std::unique_ptr<store::PgConnection> connection_;
  std::uint64_t number_ = 0;
  std::int64_t dispatcher_ = 0;
  std::int64_t marks_ = 0;
  int failures_ = 0;
  Instant next_try_ = Instant::min();
  store::PgError last_error_;
};

// A PostgresTransaction is rolled back by its destructor unless commit() was called. REQUIRES: the
// session has a dispatcher, and no other session has transactions of it.
// Invariants: (1) commit() returns a value only if the transaction is committed, and an error only
// if it is not, or if the database cannot be reached for kDoubt: a connection that is lost in the
// middle of a commit is opened again, and the database is asked.
class PostgresTransaction {
 public:
  static constexpr Duration kDoubt = std::chrono::seconds(30);

  explicit PostgresTransaction(PostgresSession& session) : session_(session) {}
  PostgresTransaction(const PostgresTransaction&) = delete;
  PostgresTransaction& operator=(const PostgresTransaction&) = delete;
  ~PostgresTransaction();

  // In one round trip.
  [[nodiscard]] store::PgExpected<std::vector<store::PgResult>> run(
      std::vector<store::PgCall> calls);
  [[nodiscard]] store::PgExpected<bool> commit();

 private:
  [[nodiscard]] store::PgExpected<bool> resolve(const store::PgError& lost);

  PostgresSession& session_;
  std::uint64_t number_ = 0;  // of the session's connection; 0: it has not begun
  std::int64_t mark_ = 0;     // in last_write, if it is committed
};

}  // namespace damper::webhooks
