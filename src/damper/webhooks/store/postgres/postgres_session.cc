#include "damper/webhooks/store/postgres/postgres_session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "damper/base/check.h"
#include "damper/run/clock.h"
#include "damper/webhooks/store/postgres/postgres_schema.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgConnection;
using store::PgError;
using store::PgExpected;
using store::PgParameters;
using store::PgResult;
using store::PgStatement;

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr int kMostDoublings = 5;  // 1.6 s

constexpr PgStatement kBegin{"begin", "BEGIN"};
constexpr PgStatement kCommit{"commit", "COMMIT"};
constexpr PgStatement kMark{"mark",
                            "INSERT INTO last_write (dispatcher, number) VALUES ($1, $2)"
                            " ON CONFLICT (dispatcher) DO UPDATE SET number = excluded.number"};
// Waits for a transaction that has not ended.
constexpr PgStatement kFindMark{"find_mark",
                                "SELECT number FROM last_write WHERE dispatcher = $1 FOR UPDATE"};

// Every statement of these sessions starts with a few given rows and finds the others by an index.
// The planner does not know that while the tables are empty or have just grown.
constexpr const char* kByIndex =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    " SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan;";

}  // namespace

void DatabaseClock::set(std::int64_t database, UnixTime host) noexcept {
  if (!simulated_) ahead_ms_ = database - host.time_since_epoch().count();
}

std::int64_t DatabaseClock::to_database(UnixTime time) const noexcept {
  return time.time_since_epoch().count() + ahead_ms_;
}

UnixTime DatabaseClock::to_host(std::int64_t ms) const noexcept {
  return UnixTime{std::chrono::milliseconds(ms - ahead_ms_)};
}

std::string PostgresSession::settings() const {
  std::string sql = "SET search_path = " + quoted(schema_) +
                    "; SET client_min_messages = warning; SET jit = off;"
                    " SET default_transaction_isolation = 'read committed';"
                    " SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '10s';"
                    " SET statement_timeout = '30s';";
  switch (kind_) {
    case Kind::writes:
      // A 202 is durable whatever the database's default is.
      sql +=
          "SELECT set_config('synchronous_commit', 'on', false)"
          " WHERE current_setting('synchronous_commit') = 'off';";
      return sql + kByIndex;
    case Kind::claims: return sql + "SET synchronous_commit = off;" + kByIndex;
    case Kind::lists: return sql;
    case Kind::watch: break;
  }
  return sql + "SET synchronous_commit = off; SET statement_timeout = '5s'; LISTEN " +
         quoted(schema_) + ";" + kByIndex;
}

PgExpected<PgConnection*> PostgresSession::connect() {
  if (connection_ && !connection_->is_lost()) return connection_.get();
  connection_.reset();
  if (run::now() < next_try_) return unexpected(last_error_);
  auto opened = PgConnection::open(url_);
  std::optional<PgError> failed;
  if (!opened) {
    failed = opened.error();
  } else if (auto set = (*opened)->execute(settings()); !set) {
    failed = set.error();
  }
  if (failed) {
    const Duration pause = kFirstPause * (1 << std::min(failures_, kMostDoublings));
    ++failures_;
    const auto jitter = static_cast<double>(pause.count()) * run::draw();
    next_try_ = run::now() + pause / 2 + Duration(static_cast<Duration::rep>(jitter));
    failed->state.clear();
    last_error_ = *std::move(failed);
    return unexpected(last_error_);
  }
  failures_ = 0;
  ++number_;
  connection_ = *std::move(opened);
  return connection_.get();
}

PgExpected<PgResult> PostgresSession::query(const PgCall& call) {
  auto connection = connect();
  if (!connection) return unexpected(connection.error());
  return (*connection)->query(call);
}

PgExpected<std::vector<PgResult>> PostgresSession::query_all(std::span<const PgCall> calls) {
  auto connection = connect();
  if (!connection) return unexpected(connection.error());
  return (*connection)->query_all(calls);
}

StoreError PostgresSession::unavailable(const PgError& error) const {
  return {StoreError::Kind::unavailable,
          "the webhook store " + url_.text() + " is not available: " + error.sentence};
}

PostgresTransaction::~PostgresTransaction() {
  if (number_ == 0 || number_ != session_.number()) return;
  if (auto connection = session_.connect(); connection && number_ == session_.number()) {
    (void)(*connection)->execute("ROLLBACK");
  }
}

PgExpected<std::vector<PgResult>> PostgresTransaction::run(std::vector<PgCall> calls) {
  if (number_ != 0) {
    auto connection = session_.connect();
    if (!connection) return unexpected(connection.error());
    if (number_ != session_.number()) return unexpected(PgError{"the connection was lost"});
    return (*connection)->query_all(calls);
  }
  mark_ = session_.next_mark();
  calls.insert(
      calls.begin(),
      {PgCall{kBegin}, PgCall{kMark, PgParameters().add(session_.dispatcher()).add(mark_)}});
  auto connection = session_.connect();
  if (!connection) return unexpected(connection.error());
  number_ = session_.number();
  auto results = (*connection)->query_all(calls);
  if (!results) return results;
  results->erase(results->begin(), results->begin() + 2);
  return results;
}

PgExpected<bool> PostgresTransaction::commit() {
  DAMPER_CHECK(number_ != 0);
  auto connection = session_.connect();
  if (!connection) return unexpected(connection.error());
  if (std::exchange(number_, 0) != session_.number()) {
    return unexpected(PgError{"the connection was lost"});
  }
  auto committed = (*connection)->query({kCommit});
  if (committed) {
    // A transaction that had failed is rolled back by COMMIT.
    if (std::string_view(PQcmdStatus(committed->get())) == "COMMIT") return true;
    return unexpected(PgError{"the transaction was rolled back", "25P02"});
  }
  if (committed.error().is_lost()) return resolve(committed.error());
  return unexpected(committed.error());
}

// COMMIT may have arrived, or not.
PgExpected<bool> PostgresTransaction::resolve(const PgError& lost) {
  const Instant end = run::now() + kDoubt;
  while (run::now() < end) {
    const auto last = session_.query({kFindMark, PgParameters().add(session_.dispatcher())});
    if (last && last->rows() == 1 && last->number(0, 0) == mark_) return true;
    if (last) return unexpected(lost);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return unexpected(lost);
}

}  // namespace damper::webhooks
