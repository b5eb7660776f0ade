#include "damper/webhooks/store/postgres/postgres_deliveries.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "damper/base/check.h"
#include "damper/webhooks/store/postgres/postgres_schema.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgExpected;
using store::PgParameters;
using store::PgResult;
using store::PgStatement;

constexpr std::uint64_t kLocks = 1024;  // of ordering keys

constexpr PgStatement kLockKeys{
    "lock_keys", "SELECT count(pg_advisory_xact_lock(k)) FROM unnest($1::bigint[]) AS k"};

// A key has at most two rows that change, found by two seeks of delivery_by_key.
#define DAMPER_FIRST_OF_KEYS                                                                  \
  "WITH first AS MATERIALIZED (SELECT k.endpoint, k.key, least("                              \
  " (SELECT message FROM delivery d WHERE d.endpoint = k.endpoint AND d.ordering_key = k.key" \
  "  AND d.ordering_key <> '' AND NOT d.behind ORDER BY message LIMIT 1),"                    \
  " (SELECT message FROM delivery d WHERE d.endpoint = k.endpoint AND d.ordering_key = k.key" \
  "  AND d.ordering_key <> '' AND d.behind ORDER BY message LIMIT 1)) AS message"             \
  " FROM unnest($1::bigint[], $2::text[]) AS k (endpoint, key))"                              \
  " UPDATE delivery d SET behind = NOT d.behind FROM first f"                                 \
  " WHERE d.endpoint = f.endpoint AND d.ordering_key = f.key AND d.ordering_key <> ''"
constexpr PgStatement kSetBehind{
    "set_behind", DAMPER_FIRST_OF_KEYS " AND NOT d.behind AND d.message > f.message"};
constexpr PgStatement kSetFirst{"set_first",
                                DAMPER_FIRST_OF_KEYS " AND d.behind AND d.message = f.message"};
#undef DAMPER_FIRST_OF_KEYS

// What conflicts, by its id or by its idempotency key, is left out; and what was addressed by a
// configuration ($10; $11: the oldest of them) that another dispatcher than $12 has changed since.
constexpr PgStatement kInsertMessages{
    "insert_messages",
    "WITH newest AS MATERIALIZED (SELECT coalesce(max(version), 0) AS version FROM change"
    " WHERE version > $11 AND dispatcher <> $12)"
    " INSERT INTO message (id, application, type, channel, ordering_key, idempotency_key, created,"
    " payload, traceparent) SELECT i.id, i.application, i.type, i.channel, i.ordering_key,"
    " i.idempotency_key, i.created, i.payload, i.traceparent FROM unnest($1::bigint[], $2::text[],"
    " $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[], $9::text[],"
    " $10::bigint[]) AS i (id, application, type, channel, ordering_key, idempotency_key, created,"
    " payload, traceparent, known)"
    " JOIN application a ON a.name = i.application"
    " WHERE i.known >= (SELECT version FROM newest)"
    " ON CONFLICT DO NOTHING RETURNING id"};

// Of the messages that this transaction has inserted. OFFSET 0 keeps the order of the joins: a plan
// that was made while the tables were small began with the endpoint and read all messages of its
// application (1,300 us of CPU a delivery in bench/webhooks with 30,000 messages).
constexpr PgStatement kInsertDeliveries{
    "insert_deliveries",
    "INSERT INTO delivery (message, endpoint, due, claim, attempts, previous_delay, behind,"
    " ordering_key, since) SELECT i.message, i.endpoint, i.due, 0, 0, 0, m.ordering_key <> '',"
    " m.ordering_key, i.due FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
    " AS i (message, endpoint, due)"
    " CROSS JOIN LATERAL (SELECT x.application, x.ordering_key FROM message x"
    "  WHERE x.id = i.message AND x.xmin = pg_current_xact_id()::xid OFFSET 0) m"
    " CROSS JOIN LATERAL (SELECT 1 FROM endpoint x"
    "  WHERE x.id = i.endpoint AND x.application = m.application OFFSET 0) e"
    " ON CONFLICT DO NOTHING"};

// fate: as Fate.
constexpr PgStatement kSettle{
    "settle",
    "WITH input AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[],"
    " $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[],"
    " $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::text[],"
    " $16::bytea[]) AS i (message, endpoint, claim, fate, due, attempts, previous_delay, reason,"
    " logged, attempt, time, duration, status, outcome, error, answer)),"
    " moved AS (UPDATE delivery d SET due = i.due, attempts = i.attempts,"
    "  previous_delay = i.previous_delay, claim = 0 FROM input i"
    "  WHERE i.fate = 1 AND d.message = i.message AND d.endpoint = i.endpoint"
    "  AND d.claim = i.claim AND EXISTS (SELECT 1 FROM endpoint e WHERE e.id = i.endpoint)"
    "  RETURNING i.*),"
    " removed AS (DELETE FROM delivery d USING input i"
    "  WHERE i.fate <> 1 AND d.message = i.message AND d.endpoint = i.endpoint"
    "  AND d.claim = i.claim AND EXISTS (SELECT 1 FROM endpoint e WHERE e.id = i.endpoint)"
    "  RETURNING i.*),"
    " buried AS (INSERT INTO dead (endpoint, message, time, attempts, reason)"
    "  SELECT endpoint, message, time, CASE WHEN logged = 1 THEN attempt ELSE attempts END, reason"
    "  FROM removed WHERE fate = 2"
    "  ON CONFLICT (endpoint, message) DO UPDATE SET time = excluded.time,"
    "  attempts = excluded.attempts, reason = excluded.reason),"
    " log AS (INSERT INTO attempt (message, endpoint, attempt, time, duration, status, outcome,"
    "  error, answer) SELECT message, endpoint, attempt, time, duration, status, outcome, error,"
    "  answer FROM (SELECT * FROM moved UNION ALL SELECT * FROM removed) s WHERE logged = 1)"
    " SELECT message, endpoint FROM moved UNION ALL SELECT message, endpoint FROM removed"};

// Why a message was not inserted.
constexpr PgStatement kExplain{
    "explain",
    "SELECT (SELECT count(*) FROM application WHERE name = $1),"
    " (SELECT count(*) FROM message WHERE id = $2), m.id, m.type, m.payload,"
    " EXISTS (SELECT 1 FROM change WHERE version > $4 AND dispatcher <> $5)"
    " FROM (SELECT 1) one LEFT JOIN message m ON m.application = $1 AND m.idempotency_key = $3"
    " AND m.idempotency_key <> ''"};

StoreError no_application(const std::string& name) {
  return {StoreError::Kind::not_found, "there is no application '" + name + "'"};
}

// Endpoints that were named are never stale.
std::int64_t known_version(const NewMessage& message) {
  return message.configuration.value_or(std::numeric_limits<std::int64_t>::max());
}

PgExpected<Expected<Accepted, StoreError>> explain(PostgresSession& session,
                                                   const NewMessage& accepted) {
  using Explained = Expected<Accepted, StoreError>;
  const Message& message = accepted.message;
  auto found = session.query({kExplain, PgParameters()
                                            .add_text(message.application)
                                            .add(number(message.id))
                                            .add_text(message.idempotency_key)
                                            .add(known_version(accepted))
                                            .add(session.dispatcher())});
  if (!found) return unexpected(found.error());
  if (!found->is_null(0, 2)) {
    const Id first{found->number(0, 2)};
    if (found->text(0, 3) == message.type && found->text(0, 4) == message.payload) {
      return Explained(Accepted{first, true});
    }
    return Explained(unexpected(StoreError{
        StoreError::Kind::conflict,
        "the idempotency key was used for another message, " + id_text(kMessagePrefix, first)}));
  }
  if (found->boolean(0, 5)) {
    return Explained(unexpected(
        StoreError{StoreError::Kind::stale, "the configuration is being changed: repeat later"}));
  }
  if (found->number(0, 0) == 0) return Explained(unexpected(no_application(message.application)));
  if (found->number(0, 1) != 0) {
    return Explained(
        unexpected(StoreError{StoreError::Kind::exists,
                              "the message " + id_text(kMessagePrefix, message.id) + " exists"}));
  }
  return Explained(unexpected(StoreError{StoreError::Kind::unavailable,
                                         "what the message conflicted with is gone: repeat it"}));
}

}  // namespace

void AcceptOperation::finish(const StoreError* error) {
  if (error != nullptr) {
    done(unexpected(*error));
  } else {
    done(std::move(result));
  }
}

void SettleOperation::finish(const StoreError* error) {
  if (error != nullptr) {
    done(unexpected(*error));
  } else {
    done(result);
  }
}

void KeyOrder::add(Id endpoint, std::string_view key) {
  if (!key.empty()) keys_.emplace(number(endpoint), key);
}

PgCall KeyOrder::lock(const std::string& schema) const {
  const std::uint64_t space = stable_hash(schema) / kLocks * kLocks;
  std::set<std::int64_t> locks;
  for (const auto& [endpoint, key] : keys_) {
    const std::uint64_t hash = stable_hash(key, stable_hash(std::to_string(endpoint)));
    locks.insert(static_cast<std::int64_t>(space + hash % kLocks));
  }
  return {kLockKeys, PgParameters().add_array(std::vector(locks.begin(), locks.end()))};
}

std::vector<PgCall> KeyOrder::repair() const {
  std::vector<std::int64_t> endpoints;
  std::vector<std::string_view> keys;
  for (const auto& [endpoint, key] : keys_) {
    endpoints.push_back(endpoint);
    keys.emplace_back(key);
  }
  const PgParameters parameters = PgParameters().add_array(endpoints).add_texts(keys);
  return {{kSetBehind, parameters}, {kSetFirst, parameters}};
}

bool DeliveryBatch::try_add(AcceptOperation& operation) {
  const Message& message = operation.message.message;
  const std::pair<std::string_view, std::string_view> key(message.application,
                                                          message.idempotency_key);
  if (messages_.contains(message.id) || (!key.second.empty() && keys_.contains(key))) return false;
  messages_.insert(message.id);
  if (!key.second.empty()) keys_.insert(key);
  accepts_.push_back(&operation);
  return true;
}

bool DeliveryBatch::try_add(SettleOperation& operation) {
  const Delivery& delivery = operation.settlement.delivery;
  DAMPER_CHECK(delivery.message != nullptr);
  if (!deliveries_.emplace(delivery.message->id, delivery.endpoint).second) return false;
  settles_.push_back(&operation);
  return true;
}

std::vector<StoreOperation*> DeliveryBatch::operations() const {
  std::vector<StoreOperation*> all(accepts_.begin(), accepts_.end());
  all.insert(all.end(), settles_.begin(), settles_.end());
  return all;
}

std::vector<DeliveryBatch> DeliveryBatch::split() const {
  std::vector<DeliveryBatch> parts(size());
  std::size_t next = 0;
  for (AcceptOperation* const accept : accepts_) (void)parts[next++].try_add(*accept);
  for (SettleOperation* const settle : settles_) (void)parts[next++].try_add(*settle);
  return parts;
}

std::vector<Id> DeliveryBatch::endpoints() const {
  std::set<Id> ids;
  for (const AcceptOperation* const accept : accepts_) {
    if (!accept->result || accept->result->repeated) continue;
    ids.insert(accept->message.endpoints.begin(), accept->message.endpoints.end());
  }
  return {ids.begin(), ids.end()};
}

void DeliveryBatch::add_accepts(std::vector<PgCall>& calls, const PostgresSession& session,
                                const DatabaseClock& clock) {
  std::sort(accepts_.begin(), accepts_.end(), [](const auto* a, const auto* b) {
    const Message& x = a->message.message;
    const Message& y = b->message.message;
    return std::tie(x.application, x.idempotency_key, x.id) <
           std::tie(y.application, y.idempotency_key, y.id);
  });
  std::vector<std::int64_t> ids, created, known;
  std::vector<std::string_view> applications, types, channels, ordering_keys, keys, payloads,
      traces;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> deliveries;
  for (const AcceptOperation* const accept : accepts_) {
    const Message& message = accept->message.message;
    ids.push_back(number(message.id));
    created.push_back(message.created.time_since_epoch().count());
    known.push_back(known_version(accept->message));
    applications.emplace_back(message.application);
    types.emplace_back(message.type);
    channels.emplace_back(message.channel);
    ordering_keys.emplace_back(message.ordering_key);
    keys.emplace_back(message.idempotency_key);
    payloads.emplace_back(message.payload);
    traces.emplace_back(message.traceparent);
    for (const Id endpoint : accept->message.endpoints) {
      deliveries.emplace_back(number(message.id), number(endpoint),
                              clock.to_database(message.created));
    }
  }
  calls.push_back({kInsertMessages, PgParameters()
                                        .add_array(ids)
                                        .add_texts(applications)
                                        .add_texts(types)
                                        .add_texts(channels)
                                        .add_texts(ordering_keys)
                                        .add_texts(keys)
                                        .add_array(created)
                                        .add_bytes_array(payloads)
                                        .add_texts(traces)
                                        .add_array(known)
                                        .add(*std::ranges::min_element(known))
                                        .add(session.dispatcher())});
  std::sort(deliveries.begin(), deliveries.end());
  std::vector<std::int64_t> messages, endpoints, dues;
  for (const auto& [message, endpoint, due] : deliveries) {
    messages.push_back(message);
    endpoints.push_back(endpoint);
    dues.push_back(due);
  }
  calls.push_back(
      {kInsertDeliveries, PgParameters().add_array(messages).add_array(endpoints).add_array(dues)});
}

void DeliveryBatch::add_settles(std::vector<PgCall>& calls, const DatabaseClock& clock) {
  std::sort(settles_.begin(), settles_.end(), [](const auto* a, const auto* b) {
    const Delivery& x = a->settlement.delivery;
    const Delivery& y = b->settlement.delivery;
    return std::tie(x.message->id, x.endpoint) < std::tie(y.message->id, y.endpoint);
  });
  enum {
    message,
    endpoint,
    claim,
    fate,
    due,
    attempts,
    delay,
    logged,
    attempt,
    time,
    length,
    status,
    count
  };
  std::vector<std::vector<std::int64_t>> numbers(count);
  std::vector<std::string_view> reasons, outcomes, errors, answers;
  for (const SettleOperation* const operation : settles_) {
    const Settlement& s = operation->settlement;
    const std::uint32_t tries = s.fate == Fate::again ? s.attempts : s.delivery.attempts;
    numbers[message].push_back(number(s.delivery.message->id));
    numbers[endpoint].push_back(number(s.delivery.endpoint));
    numbers[claim].push_back(static_cast<std::int64_t>(s.delivery.claim));
    numbers[fate].push_back(static_cast<std::int64_t>(s.fate));
    numbers[due].push_back(clock.to_database(s.due));
    numbers[attempts].push_back(tries);
    numbers[delay].push_back(s.previous_delay.count());
    numbers[logged].push_back(s.log_attempt ? 1 : 0);
    numbers[attempt].push_back(s.attempt.attempt);
    numbers[time].push_back(s.attempt.time.time_since_epoch().count());
    numbers[length].push_back(s.attempt.duration.count());
    numbers[status].push_back(s.attempt.status);
    reasons.emplace_back(s.reason);
    outcomes.emplace_back(s.attempt.outcome);
    errors.emplace_back(s.attempt.error);
    answers.emplace_back(s.attempt.answer);
  }
  PgParameters parameters;
  for (const int column : {message, endpoint, claim, fate, due, attempts, delay}) {
    parameters.add_array(numbers[static_cast<std::size_t>(column)]);
  }
  parameters.add_texts(reasons);
  for (const int column : {logged, attempt, time, length, status}) {
    parameters.add_array(numbers[static_cast<std::size_t>(column)]);
  }
  parameters.add_texts(outcomes).add_texts(errors).add_bytes_array(answers);
  calls.push_back({kSettle, std::move(parameters)});
}

PgExpected<bool> DeliveryBatch::write(PostgresSession& session, const DatabaseClock& clock) {
  KeyOrder order;
  for (const AcceptOperation* const accept : accepts_) {
    for (const Id endpoint : accept->message.endpoints) {
      order.add(endpoint, accept->message.message.ordering_key);
    }
  }
  for (const SettleOperation* const operation : settles_) {
    const Settlement& settlement = operation->settlement;
    if (settlement.fate == Fate::again) continue;
    order.add(settlement.delivery.endpoint, settlement.delivery.message->ordering_key);
  }
  std::vector<PgCall> calls;
  if (!order.is_empty()) calls.push_back(order.lock(session.schema()));
  const std::size_t first_accept = calls.size();
  if (!accepts_.empty()) add_accepts(calls, session, clock);
  const std::size_t first_settle = calls.size();
  if (!settles_.empty()) add_settles(calls, clock);
  if (!order.is_empty()) {
    for (PgCall& call : order.repair()) calls.push_back(std::move(call));
  }
  std::set<Id> inserted;
  std::set<std::pair<Id, Id>> settled;
  {
    PostgresTransaction transaction(session);
    const auto results = transaction.run(std::move(calls));
    if (!results) return unexpected(results.error());
    if (!accepts_.empty()) {
      const PgResult& rows = (*results)[first_accept];
      for (int row = 0; row < rows.rows(); ++row) inserted.insert(Id{rows.number(row, 0)});
    }
    if (!settles_.empty()) {
      const PgResult& rows = (*results)[first_settle];
      for (int row = 0; row < rows.rows(); ++row) {
        settled.emplace(Id{rows.number(row, 0)}, Id{rows.number(row, 1)});
      }
    }
    if (auto committed = transaction.commit(); !committed) return committed;
  }
  for (SettleOperation* const operation : settles_) {
    const Delivery& delivery = operation->settlement.delivery;
    operation->result = settled.contains({delivery.message->id, delivery.endpoint});
  }
  for (AcceptOperation* const operation : accepts_) {
    const Message& message = operation->message.message;
    if (inserted.contains(message.id)) {
      operation->result = Accepted{message.id, false};
    } else if (auto why = explain(session, operation->message)) {
      operation->result = *std::move(why);
    } else {
      operation->result = unexpected(session.unavailable(why.error()));
    }
  }
  return true;
}

}  // namespace damper::webhooks
