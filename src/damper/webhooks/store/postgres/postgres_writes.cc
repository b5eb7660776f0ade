#include "damper/webhooks/store/postgres/postgres_writes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "damper/webhooks/store/postgres/postgres_deliveries.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgParameters;
using store::PgStatement;

constexpr std::int64_t kScannedPerPruned = 10;
constexpr std::int64_t kPurgedRows = 500;  // of a transaction
constexpr std::int64_t kNoteMs = 60'000;   // longer than a write that began before a removal
constexpr std::int64_t kChangesMs = std::int64_t{7} * 24 * 3'600'000;
constexpr double kLeastRate = 0.001;  // a second

constexpr PgStatement kNote{
    "note",
    "WITH next AS (UPDATE configuration SET version = version + 1 RETURNING version)"
    " INSERT INTO change (version, application, endpoint, dispatcher, time)"
    " SELECT version, $1, $2, $3, now_ms() FROM next"};
// After kNote.
constexpr PgStatement kNoteEndpoints{
    "note_endpoints",
    "INSERT INTO change (version, application, endpoint, dispatcher, time)"
    " SELECT c.version, '', e.id, $2, now_ms() FROM configuration c, endpoint e"
    " WHERE e.application = $1"};

constexpr PgStatement kFindApplication{
    "find_application",
    "SELECT (SELECT count(*) FROM application WHERE name = $1),"
    " (SELECT count(*) FROM removed_application WHERE name = $1)"};
constexpr PgStatement kPutApplication{"put_application",
                                      "INSERT INTO application (name, created) VALUES ($1, $2)"
                                      " ON CONFLICT DO NOTHING"};
constexpr PgStatement kPutSetting{"put_setting",
                                  "INSERT INTO setting (name, text, version, dispatcher)"
                                  " SELECT $1, $2, version, $3 FROM configuration"
                                  " ON CONFLICT (name) DO UPDATE SET text = excluded.text,"
                                  " version = excluded.version, dispatcher = excluded.dispatcher"};
constexpr PgStatement kPruneSettings{"prune_settings",
                                     "DELETE FROM setting WHERE text = '' AND version <"
                                     " (SELECT coalesce(min(version), 0) FROM change)"};
constexpr PgStatement kFindEndpoint{"find_endpoint",
                                    "SELECT (SELECT application FROM endpoint WHERE id = $1),"
                                    " (SELECT count(*) FROM removed_endpoint WHERE id = $1)"};
constexpr PgStatement kPutEndpoint{
    "put_endpoint",
    "INSERT INTO endpoint (id, application, created, ordered, config, version)"
    " VALUES ($1, $2, $3, $4, $5, 1) ON CONFLICT (id) DO UPDATE SET ordered = excluded.ordered,"
    " config = excluded.config, version = endpoint.version + 1 WHERE endpoint.version = $6"};

constexpr PgStatement kRemoveState{"remove_state",
                                   "DELETE FROM endpoint_state WHERE endpoint = $1"};
constexpr PgStatement kNoteRemoved{
    "note_removed", "INSERT INTO removed_endpoint SELECT id, now_ms() FROM endpoint WHERE id = $1"};
constexpr PgStatement kRemoveEndpoint{"remove_endpoint", "DELETE FROM endpoint WHERE id = $1"};

constexpr PgStatement kRemoveStates{"remove_states",
                                    "DELETE FROM endpoint_state WHERE endpoint IN (SELECT id FROM "
                                    "endpoint WHERE application = $1)"};
constexpr PgStatement kNoteAllRemoved{
    "note_all_removed",
    "INSERT INTO removed_endpoint SELECT id, now_ms() FROM endpoint WHERE application = $1"};
constexpr PgStatement kRemoveEndpoints{"remove_endpoints",
                                       "DELETE FROM endpoint WHERE application = $1"};
constexpr PgStatement kNoteApplication{
    "note_application",
    "INSERT INTO removed_application SELECT name FROM application WHERE name = $1"};
constexpr PgStatement kRemoveApplication{"remove_application",
                                         "DELETE FROM application WHERE name = $1"};

constexpr PgStatement kPutState{
    "put_state",
    "INSERT INTO endpoint_state AS s (endpoint, epoch, blocked_until, open_until, trips,"
    " failing_since, changed, changed_by) SELECT $1, $2 + 1, $3, $4, $5, $6, now_ms(), $7"
    " FROM endpoint WHERE id = $1"
    " ON CONFLICT (endpoint) DO UPDATE SET epoch = excluded.epoch,"
    " blocked_until = excluded.blocked_until, open_until = excluded.open_until,"
    " trips = excluded.trips, failing_since = excluded.failing_since, probe_until = CASE"
    " WHEN excluded.open_until BETWEEN 1 AND now_ms() THEN s.probe_until ELSE 0 END,"
    " changed = excluded.changed, changed_by = excluded.changed_by WHERE s.epoch = $2"};

constexpr PgStatement kCountDead{
    "count_dead",
    "SELECT count(*) FROM dead d WHERE d.endpoint = $1 AND d.message BETWEEN $2 AND $3"
    " AND d.time BETWEEN $4 AND $5 AND ($6 = '' OR d.reason = $6)"
    " AND ($7 = '' OR EXISTS (SELECT FROM message m WHERE m.id = d.message AND m.type = $7))"};
constexpr PgStatement kFindDead{
    "find_dead",
    "SELECT d.message, coalesce(m.ordering_key, '') FROM dead d LEFT JOIN message m"
    " ON m.id = d.message WHERE d.endpoint = $1 AND d.message BETWEEN $2 AND $3"
    " AND d.time BETWEEN $4 AND $5 AND ($6 = '' OR d.reason = $6)"
    " AND ($7 = '' OR m.type = $7) ORDER BY d.message LIMIT $8 FOR UPDATE OF d"};
constexpr PgStatement kDiscard{
    "discard", "DELETE FROM dead WHERE endpoint = $1 AND message = ANY ($2::bigint[])"};
constexpr PgStatement kRevive{
    "revive",
    "WITH gone AS (DELETE FROM dead d USING unnest($2::bigint[], $3::bigint[]) AS i (message, due)"
    "  WHERE d.endpoint = $1 AND d.message = i.message RETURNING d.message, i.due)"
    " INSERT INTO delivery (message, endpoint, due, claim, attempts, previous_delay, behind,"
    " ordering_key, since) SELECT g.message, e.id, g.due, 0, 0, 0, m.ordering_key <> '',"
    " m.ordering_key, g.due"
    " FROM gone g JOIN message m ON m.id = g.message"
    " JOIN endpoint e ON e.id = $1 AND e.application = m.application ON CONFLICT DO NOTHING"};

constexpr PgStatement kPruneDead{
    "prune_dead",
    "DELETE FROM dead WHERE ctid = ANY (ARRAY(SELECT ctid FROM dead WHERE time < $1"
    " ORDER BY time LIMIT $2))"};
constexpr PgStatement kPruneAttempts{
    "prune_attempts",
    "DELETE FROM attempt WHERE number IN (SELECT number FROM attempt WHERE number <="
    " (SELECT max(number) FROM attempt) - $1 ORDER BY number LIMIT $2)"};
constexpr PgStatement kOldMessages{
    "old_messages",
    "SELECT id, EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id) OR"
    " EXISTS (SELECT 1 FROM dead x WHERE x.message = m.id), created"
    " FROM message m WHERE id > $1 ORDER BY id LIMIT $2"};
constexpr PgStatement kDeleteMessages{
    "delete_messages",
    "DELETE FROM message m WHERE id = ANY ($1::bigint[])"
    " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id)"
    " AND NOT EXISTS (SELECT 1 FROM dead x WHERE x.message = m.id)"};
constexpr PgStatement kPruneChanges{"prune_changes",
                                    "DELETE FROM change WHERE time < now_ms() - $1 AND"
                                    " version < (SELECT version FROM configuration)"};
constexpr PgStatement kPruneDispatchers{"prune_dispatchers",
                                        "DELETE FROM dispatcher WHERE alive_until < now_ms() - $1"};

constexpr PgStatement kPruneMarks{
    "prune_marks",
    "DELETE FROM last_write w WHERE NOT EXISTS"
    " (SELECT 1 FROM dispatcher d WHERE d.number = w.dispatcher) AND w.dispatcher <> $1"
    " AND w.dispatcher < (SELECT last_value - 10000 FROM dispatcher_number)"};

constexpr PgStatement kPurgeDeliveries{
    "purge_deliveries",
    "DELETE FROM delivery WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM removed_endpoint r"
    " JOIN delivery d ON d.endpoint = r.id LIMIT $1))"};
constexpr PgStatement kPurgeDead{
    "purge_dead",
    "DELETE FROM dead WHERE ctid = ANY (ARRAY(SELECT d.ctid FROM removed_endpoint r"
    " JOIN dead d ON d.endpoint = r.id LIMIT $1))"};
constexpr PgStatement kPurgeMessages{
    "purge_messages",
    "DELETE FROM message WHERE ctid = ANY (ARRAY(SELECT m.ctid FROM removed_application r"
    " JOIN message m ON m.application = r.name LIMIT $1))"};
constexpr PgStatement kForgetEndpoints{
    "forget_endpoints",
    "DELETE FROM removed_endpoint r WHERE r.time < now_ms() - $1"
    " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = r.id)"
    " AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.endpoint = r.id)"};
constexpr PgStatement kForgetApplications{
    "forget_applications",
    "DELETE FROM removed_application r"
    " WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.application = r.name)"};

StoreError missing_application(const std::string& name) {
  return {StoreError::Kind::not_found, "there is no application '" + name + "'"};
}
StoreError missing_endpoint(Id id) {
  return {StoreError::Kind::not_found, "there is no endpoint " + id_text(kEndpointPrefix, id)};
}
std::int64_t in_ms(UnixTime time) { return time.time_since_epoch().count(); }

PgCall note(const std::string& application, Id endpoint, std::int64_t dispatcher) {
  return {kNote, PgParameters().add_text(application).add(number(endpoint)).add(dispatcher)};
}

PgParameters filter_parameters(const RedriveFilter& filter) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  return PgParameters()
      .add(number(filter.endpoint))
      .add(filter.message ? number(*filter.message) : kLeast)
      .add(filter.message ? number(*filter.message) : kGreatest)
      .add(filter.from ? in_ms(*filter.from) : kLeast)
      .add(filter.until ? in_ms(*filter.until) : kGreatest)
      .add_text(filter.reason)
      .add_text(filter.type);
}

using Outcome = Expected<Store::Nothing, StoreError>;

store::PgExpected<Outcome> committed(PostgresTransaction& transaction) {
  if (auto done = transaction.commit(); !done) return unexpected(done.error());
  return Outcome(Store::Nothing{});
}

}  // namespace

PostgresWrites::Result<Store::Nothing> PostgresWrites::put_application(const std::string& name,
                                                                       UnixTime created) {
  auto known = session_.query({kFindApplication, PgParameters().add_text(name)});
  if (!known) return unexpected(known.error());
  if (known->number(0, 0) != 0) return Outcome(Nothing{});
  PostgresTransaction transaction(session_);
  const auto results = transaction.run(
      {note(name, Id{}, dispatcher_), {kFindApplication, PgParameters().add_text(name)}});
  if (!results) return unexpected(results.error());
  if ((*results)[1].number(0, 1) != 0) {
    return Outcome(unexpected(
        StoreError{StoreError::Kind::unavailable,
                   "the removal of the application '" + name + "' is in progress: repeat later"}));
  }
  auto put =
      transaction.run({{kPutApplication, PgParameters().add_text(name).add(in_ms(created))}});
  if (!put) return unexpected(put.error());
  return committed(transaction);
}

PostgresWrites::Result<Store::Nothing> PostgresWrites::put_setting(const std::string& name,
                                                                   const std::string& text) {
  PostgresTransaction transaction(session_);
  PgCall put{kPutSetting, PgParameters().add_text(name).add_text(text).add(dispatcher_)};
  if (auto done = transaction.run({note("", Id{}, dispatcher_), std::move(put)}); !done) {
    return unexpected(done.error());
  }
  return committed(transaction);
}

PostgresWrites::Result<Store::Nothing> PostgresWrites::remove_application(const std::string& name) {
  PostgresTransaction transaction(session_);
  std::vector<PgCall> calls = {note(name, Id{}, dispatcher_),
                               {kNoteEndpoints, PgParameters().add_text(name).add(dispatcher_)}};
  for (const PgStatement& statement :
       {kRemoveStates, kNoteAllRemoved, kRemoveEndpoints, kNoteApplication, kRemoveApplication}) {
    calls.push_back({statement, PgParameters().add_text(name)});
  }
  auto results = transaction.run(std::move(calls));
  if (!results) return unexpected(results.error());
  if (results->back().changes() == 0) return Outcome(unexpected(missing_application(name)));
  return committed(transaction);
}

PostgresWrites::Result<Store::Nothing> PostgresWrites::put_endpoint(const Endpoint& endpoint,
                                                                    std::string_view config) {
  PostgresTransaction transaction(session_);
  const auto found =
      transaction.run({note("", endpoint.id, dispatcher_),
                       {kFindApplication, PgParameters().add_text(endpoint.application)},
                       {kFindEndpoint, PgParameters().add(number(endpoint.id))}});
  if (!found) return unexpected(found.error());
  if ((*found)[1].number(0, 0) == 0) {
    return Outcome(unexpected(missing_application(endpoint.application)));
  }
  if ((*found)[2].number(0, 1) != 0) return Outcome(unexpected(missing_endpoint(endpoint.id)));
  if (!(*found)[2].is_null(0, 0) && (*found)[2].text(0, 0) != endpoint.application) {
    return Outcome(unexpected(StoreError{StoreError::Kind::exists,
                                         "the endpoint " + id_text(kEndpointPrefix, endpoint.id) +
                                             " belongs to another application"}));
  }
  auto put = transaction.run({{kPutEndpoint, PgParameters()
                                                 .add(number(endpoint.id))
                                                 .add_text(endpoint.application)
                                                 .add(in_ms(endpoint.created))
                                                 .add(endpoint.config.ordering != Ordering::none)
                                                 .add_bytes(config)
                                                 .add(endpoint.version)}});
  if (!put) return unexpected(put.error());
  if (put->front().changes() == 0) {
    return Outcome(unexpected(StoreError{StoreError::Kind::conflict,
                                         "another dispatcher has changed the endpoint " +
                                             id_text(kEndpointPrefix, endpoint.id) + ": repeat"}));
  }
  return committed(transaction);
}

PostgresWrites::Result<Store::Nothing> PostgresWrites::remove_endpoint(Id endpoint) {
  PostgresTransaction transaction(session_);
  std::vector<PgCall> calls = {note("", endpoint, dispatcher_)};
  for (const PgStatement& statement : {kRemoveState, kNoteRemoved, kRemoveEndpoint}) {
    calls.push_back({statement, PgParameters().add(number(endpoint))});
  }
  auto results = transaction.run(std::move(calls));
  if (!results) return unexpected(results.error());
  if (results->back().changes() == 0) return Outcome(unexpected(missing_endpoint(endpoint)));
  return committed(transaction);
}

PostgresWrites::Result<Store::Nothing> PostgresWrites::put_state(const EndpointState& state) {
  const std::int64_t failing =
      state.failing_since ? clock_.to_database(*state.failing_since) : std::int64_t{0};
  const auto time = [&](UnixTime at) { return at == UnixTime{} ? 0 : clock_.to_database(at); };
  PostgresTransaction transaction(session_);
  const auto results =
      transaction.run({{kPutState, PgParameters()
                                       .add(number(state.endpoint))
                                       .add(state.epoch)
                                       .add(time(state.blocked_until))
                                       .add(time(state.open_until))
                                       .add(std::int64_t{state.trips})
                                       .add(failing)
                                       .add(dispatcher_)},
                       {kFindEndpoint, PgParameters().add(number(state.endpoint))}});
  if (!results) return unexpected(results.error());
  if ((*results)[1].is_null(0, 0)) return Outcome(unexpected(missing_endpoint(state.endpoint)));
  if ((*results)[0].changes() == 0) {
    return Outcome(unexpected(
        StoreError{StoreError::Kind::conflict, "another dispatcher has changed the state of " +
                                                   id_text(kEndpointPrefix, state.endpoint)}));
  }
  return committed(transaction);
}

PostgresWrites::Result<Redriven> PostgresWrites::redrive(const RedriveFilter& filter,
                                                         UnixTime now) {
  using Reply = Expected<Redriven, StoreError>;
  const auto counted = session_.query({kCountDead, filter_parameters(filter)});
  if (!counted) return unexpected(counted.error());
  Redriven result{.remaining = counted->number(0, 0)};
  if (filter.dry_run) return Reply(Redriven{.count = result.remaining, .remaining = 0});
  PostgresTransaction transaction(session_);
  const auto found = transaction.run(
      {{kFindDead, filter_parameters(filter).add(static_cast<std::int64_t>(filter.most))}});
  if (!found) return unexpected(found.error());
  std::vector<std::int64_t> messages;
  std::vector<std::int64_t> dues;
  KeyOrder order;
  const double rate = std::max(filter.rate_per_second, kLeastRate);
  for (int row = 0; row < found->front().rows(); ++row) {
    const double ms_from_now = static_cast<double>(row) * 1000 / rate;
    messages.push_back(found->front().number(row, 0));
    dues.push_back(clock_.to_database(
        now + std::chrono::milliseconds(static_cast<std::int64_t>(ms_from_now))));
    if (!filter.discard) order.add(filter.endpoint, found->front().text(row, 1));
  }
  std::vector<PgCall> calls;
  if (!order.is_empty()) calls.push_back(order.lock(session_.schema()));
  PgParameters parameters = PgParameters().add(number(filter.endpoint)).add_array(messages);
  calls.push_back(filter.discard ? PgCall{kDiscard, std::move(parameters)}
                                 : PgCall{kRevive, std::move(parameters.add_array(dues))});
  if (!order.is_empty()) {
    for (PgCall& call : order.repair()) calls.push_back(std::move(call));
  }
  if (auto revived = transaction.run(std::move(calls)); !revived) {
    return unexpected(revived.error());
  }
  if (auto done = transaction.commit(); !done) return unexpected(done.error());
  result.count = std::ssize(messages);
  result.remaining -= result.count;
  return Reply(result);
}

// Messages are looked at in order of their ids, some of them a call, and again from the first one
// after the last.
store::PgExpected<std::int64_t> PostgresWrites::prune_messages(const Retention& retention) {
  const auto batch = static_cast<std::int64_t>(retention.batch);
  const std::int64_t most = batch * kScannedPerPruned;
  const auto rows =
      session_.query({kOldMessages, PgParameters().add(std::exchange(pruned_, 0)).add(most)});
  if (!rows) return unexpected(rows.error());
  std::vector<std::int64_t> old;
  for (int row = 0; row < rows->rows(); ++row) {
    if (rows->number(row, 2) >= in_ms(retention.messages_before)) break;
    if (!rows->boolean(row, 1)) old.push_back(rows->number(row, 0));
    if (row + 1 < most && std::ssize(old) < batch) continue;
    pruned_ = rows->number(row, 0);
    break;
  }
  if (old.empty()) return 0;
  auto deleted = session_.query({kDeleteMessages, PgParameters().add_array(old)});
  if (!deleted) return unexpected(deleted.error());
  return deleted->changes();
}

PostgresWrites::Result<std::int64_t> PostgresWrites::prune(const Retention& retention) {
  const auto batch = static_cast<std::int64_t>(retention.batch);
  const std::int64_t kept = std::max<std::int64_t>(retention.most_attempts, 0);
  const std::array calls = {
      PgCall{kPruneDead, PgParameters().add(in_ms(retention.dead_before)).add(batch)},
      PgCall{kPruneAttempts, PgParameters().add(kept).add(batch)},
      PgCall{kPruneChanges, PgParameters().add(kChangesMs)},
      PgCall{kPruneSettings},
      PgCall{kPruneDispatchers, PgParameters().add(kChangesMs)},
      PgCall{kPruneMarks, PgParameters().add(dispatcher_)}};
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto pruned = session_.query(calls[i]);
    if (!pruned) return unexpected(pruned.error());
    if (i < 2) rows += pruned->changes();
  }
  auto messages = prune_messages(retention);
  if (!messages) return unexpected(messages.error());
  if (auto purged = purge(); !purged) return unexpected(purged.error());
  return Expected<std::int64_t, StoreError>(rows + *messages);
}

PostgresWrites::Result<bool> PostgresWrites::purge() {
  const PgParameters most = PgParameters().add(kPurgedRows);
  bool more = false;
  for (const PgStatement& statement : {kPurgeDeliveries, kPurgeDead, kPurgeMessages}) {
    auto purged = session_.query({statement, most});
    if (!purged) return unexpected(purged.error());
    more = more || purged->changes() > 0;
  }
  for (const PgCall& call :
       {PgCall{kForgetEndpoints, PgParameters().add(kNoteMs)}, PgCall{kForgetApplications}}) {
    if (auto forgotten = session_.query(call); !forgotten) return unexpected(forgotten.error());
  }
  return Expected<bool, StoreError>(more);
}

}  // namespace damper::webhooks
