#include "damper/webhooks/store/sqlite_writes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "damper/webhooks/store/sqlite_schema.h"

namespace damper::webhooks {
namespace {

using Run = store::Statement::Run;

StoreError no_application(std::string_view name) {
  return {StoreError::Kind::not_found, "there is no application '" + std::string(name) + "'"};
}
StoreError no_endpoint(Id id) {
  return {StoreError::Kind::not_found, "there is no endpoint " + id_text(kEndpointPrefix, id)};
}

constexpr std::int64_t kScannedPerPruned = 10;
constexpr std::int64_t kPurgedRows = 500;  // of a transaction, which others share

}  // namespace

SqliteWrites::SqliteWrites(store::Database& file)
    : file_(file),
      deliveries_(file),
      removal_(file),
      put_application_(file, "INSERT OR IGNORE INTO application (name, created) VALUES (?1, ?2)"),
      find_application_(file, "SELECT 1 FROM application WHERE name = ?1"),
      put_endpoint_(file,
                    "INSERT INTO endpoint (id, application, created, ordered, config)"
                    " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE"
                    " SET ordered = excluded.ordered, config = excluded.config"),
      find_endpoint_(file, "SELECT application FROM endpoint WHERE id = ?1"),
      put_state_(file,
                 "INSERT OR REPLACE INTO endpoint_state"
                 " (endpoint, blocked_until, open_until, trips, failing_since)"
                 " VALUES (?1, ?2, ?3, ?4, ?5)"),
      put_setting_(file, "INSERT OR REPLACE INTO setting (name, text) VALUES (?1, ?2)"),
      remove_setting_(file, "DELETE FROM setting WHERE name = ?1"),
      find_key_(file,
                "SELECT id, type, payload FROM message WHERE application = ?1"
                " AND idempotency_key = ?2 AND idempotency_key <> ''"),
      insert_message_(file,
                      "INSERT OR IGNORE INTO message (id, application, type, channel,"
                      " ordering_key, idempotency_key, created, payload, traceparent)"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
      prune_dead_(file,
                  "DELETE FROM dead WHERE (endpoint, message) IN (SELECT endpoint, message"
                  " FROM dead WHERE time < ?1 ORDER BY time LIMIT ?2)"),
      prune_attempts_(file,
                      "DELETE FROM attempt WHERE number IN (SELECT number FROM attempt WHERE"
                      " number <= (SELECT max(number) FROM attempt) - ?1 ORDER BY number"
                      " LIMIT ?2)"),
      old_messages_(file,
                    "SELECT id, EXISTS (SELECT 1 FROM delivery WHERE message = id) OR"
                    " EXISTS (SELECT 1 FROM dead WHERE message = id), created"
                    " FROM message WHERE id > ?1 ORDER BY id"),
      delete_message_(file, "DELETE FROM message WHERE id = ?1") {}

std::int64_t SqliteWrites::run_count(const store::Statement& statement, std::int64_t first) {
  Run run(statement);
  (void)run.bind(first).step();
  return file_.changes();
}

std::int64_t SqliteWrites::run_count(const store::Statement& statement, std::int64_t first,
                                     std::int64_t second) {
  Run run(statement);
  (void)run.bind(first).bind(second).step();
  return file_.changes();
}

bool SqliteWrites::has_application(std::string_view name) {
  Run run(find_application_);
  return run.bind_text(name).step();
}

SqliteWrites::Result<Store::Nothing> SqliteWrites::put_application(std::string_view name,
                                                                   UnixTime created) {
  if (removal_.is_noted(name)) {
    return unexpected(StoreError{
        StoreError::Kind::unavailable,
        "the removal of the application '" + std::string(name) + "' is in progress: repeat later"});
  }
  Run run(put_application_);
  (void)run.bind_text(name).bind(ms(created)).step();
  return Nothing{};
}

SqliteWrites::Result<Store::Nothing> SqliteWrites::remove_application(std::string_view name) {
  if (!removal_.try_remove_application(name)) return unexpected(no_application(name));
  (void)purge();
  return Nothing{};
}

SqliteWrites::Result<Store::Nothing> SqliteWrites::remove_endpoint(Id endpoint) {
  if (!removal_.try_remove_endpoint(endpoint)) return unexpected(no_endpoint(endpoint));
  (void)purge();
  return Nothing{};
}

bool SqliteWrites::purge() { return removal_.purge(kPurgedRows) > 0; }

SqliteWrites::Result<Store::Nothing> SqliteWrites::put_endpoint(const Endpoint& endpoint,
                                                                std::string_view config) {
  if (!has_application(endpoint.application)) {
    return unexpected(no_application(endpoint.application));
  }
  if (removal_.is_noted(endpoint.id)) return unexpected(no_endpoint(endpoint.id));
  {
    Run found(find_endpoint_);
    if (found.bind(number(endpoint.id)).step() && found.bytes(0) != endpoint.application) {
      return unexpected(StoreError{StoreError::Kind::exists,
                                   "the endpoint " + id_text(kEndpointPrefix, endpoint.id) +
                                       " belongs to another application"});
    }
  }
  Run run(put_endpoint_);
  (void)run.bind(number(endpoint.id))
      .bind_text(endpoint.application)
      .bind(ms(endpoint.created))
      .bind(endpoint.config.ordering == Ordering::none ? 0 : 1)
      .bind(config)
      .step();
  return Nothing{};
}

SqliteWrites::Result<Store::Nothing> SqliteWrites::put_state(const EndpointState& state) {
  {
    Run found(find_endpoint_);
    if (!found.bind(number(state.endpoint)).step()) return unexpected(no_endpoint(state.endpoint));
  }
  Run run(put_state_);
  (void)run.bind(number(state.endpoint))
      .bind(ms(state.blocked_until))
      .bind(ms(state.open_until))
      .bind(static_cast<std::int64_t>(state.trips))
      .bind(ms(state.failing_since.value_or(UnixTime{})))
      .step();
  return Nothing{};
}

SqliteWrites::Result<Store::Nothing> SqliteWrites::put_setting(std::string_view name,
                                                               std::string_view text) {
  Run run(text.empty() ? remove_setting_ : put_setting_);
  run.bind_text(name);
  if (!text.empty()) run.bind_text(text);
  (void)run.step();
  return Nothing{};
}

std::optional<SqliteWrites::Result<Accepted>> SqliteWrites::find_repeated(const Message& message) {
  if (message.idempotency_key.empty()) return std::nullopt;
  Run run(find_key_);
  if (!run.bind_text(message.application).bind_text(message.idempotency_key).step()) {
    return std::nullopt;
  }
  const Id first{run.number(0)};
  if (run.bytes(1) == message.type && run.bytes(2) == message.payload) {
    return Accepted{first, true};
  }
  return unexpected(StoreError{
      StoreError::Kind::conflict,
      "the idempotency key was used for another message, " + id_text(kMessagePrefix, first)});
}

bool SqliteWrites::try_insert(const Message& message) {
  Run run(insert_message_);
  (void)run.bind(number(message.id))
      .bind_text(message.application)
      .bind_text(message.type)
      .bind_text(message.channel)
      .bind_text(message.ordering_key)
      .bind_text(message.idempotency_key)
      .bind(ms(message.created))
      .bind(std::string_view(message.payload))
      .bind_text(message.traceparent)
      .step();
  return file_.changes() == 1;
}

SqliteWrites::Result<Accepted> SqliteWrites::accept(const NewMessage& message) {
  const Message& body = message.message;
  if (!has_application(body.application)) return unexpected(no_application(body.application));
  if (auto repeated = find_repeated(body)) return *std::move(repeated);
  if (!try_insert(body)) {
    return unexpected(StoreError{StoreError::Kind::exists,
                                 "the message " + id_text(kMessagePrefix, body.id) + " exists"});
  }
  for (const Id endpoint : message.endpoints) {
    deliveries_.insert({endpoint, body.created, body.id}, body.application, body.ordering_key);
  }
  return Accepted{body.id, false};
}

// Messages are looked at in order of their ids, some of them a call, and again from the first one
// after the last: those that wait do not have to be passed by every call.
std::int64_t SqliteWrites::prune_messages(const Retention& retention) {
  const auto batch = static_cast<std::int64_t>(retention.batch);
  std::vector<std::int64_t> old;
  std::int64_t left = batch * kScannedPerPruned;
  {
    Run run(old_messages_);
    run.bind(std::exchange(pruned_, 0));
    while (run.step() && run.number(2) < ms(retention.messages_before)) {
      if (run.number(1) == 0) old.push_back(run.number(0));
      if (--left > 0 && std::ssize(old) < batch) continue;
      pruned_ = run.number(0);
      break;
    }
  }
  for (const std::int64_t id : old) (void)run_count(delete_message_, id);
  return std::ssize(old);
}

SqliteWrites::Result<std::int64_t> SqliteWrites::prune(const Retention& retention) {
  const auto batch = static_cast<std::int64_t>(retention.batch);
  std::int64_t rows = run_count(prune_dead_, ms(retention.dead_before), batch);
  rows += run_count(prune_attempts_, std::max<std::int64_t>(retention.most_attempts, 0), batch);
  return rows + prune_messages(retention);
}

}  // namespace damper::webhooks
