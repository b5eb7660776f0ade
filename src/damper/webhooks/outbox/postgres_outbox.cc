#include "damper/webhooks/outbox/postgres_outbox.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/http/headers/idempotency_key.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgParameters;
using store::PgResult;
using store::PgStatement;

// Not CREATE TABLE IF NOT EXISTS: that prints a notice, and fails if two programs do it at once.
// `error`: why a dispatcher refuses it for good.
constexpr const char* kCreateInPostgres = R"sql(DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('damper_outbox'));
  IF to_regclass('damper_outbox') IS NULL THEN
    CREATE TABLE damper_outbox (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, application text NOT NULL,
      type text NOT NULL, channel text NOT NULL, ordering_key text NOT NULL,
      key text NOT NULL UNIQUE, payload bytea NOT NULL, error text)
      WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    CREATE INDEX damper_outbox_waiting ON damper_outbox (number) WHERE error IS NULL;
    CREATE INDEX damper_outbox_by_ordering_key ON damper_outbox (application, ordering_key, number)
      WHERE error IS NULL AND ordering_key <> '';
  END IF;
END $$)sql";
// A key that exists is no error of the database: that would end the caller's transaction.
constexpr const char* kInsertInPostgres =
    "INSERT INTO damper_outbox (application, type, channel, ordering_key, key, payload)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO NOTHING";
constexpr Oid kTextOid = 25;
constexpr Oid kByteaOid = 17;

constexpr PgStatement kBeginRelay{"damper_outbox_begin", "BEGIN"};
constexpr PgStatement kEndRelay{"damper_outbox_end", "COMMIT"};
constexpr PgStatement kTakeRows{
    "damper_outbox_take",
    "SELECT number, application, type, channel, ordering_key, key, payload FROM damper_outbox o"
    " WHERE error IS NULL AND (ordering_key = '' OR NOT EXISTS (SELECT 1 FROM damper_outbox x"
    "  WHERE x.application = o.application AND x.ordering_key = o.ordering_key"
    "  AND x.ordering_key <> '' AND x.error IS NULL AND x.number < o.number))"
    " ORDER BY number LIMIT $1 FOR UPDATE SKIP LOCKED"};
constexpr PgStatement kRemoveRows{"damper_outbox_remove",
                                  "DELETE FROM damper_outbox WHERE number = ANY ($1::bigint[])"};
constexpr PgStatement kKeepRows{
    "damper_outbox_keep",
    "UPDATE damper_outbox o SET error = i.error FROM unnest($1::bigint[], $2::text[])"
    " AS i (number, error) WHERE o.number = i.number"};

struct ClearResult {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ClearResult>;

[[nodiscard]] std::optional<std::string> error_of(const ResultPtr& result, PGconn* database) {
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return std::nullopt;
  std::string text = result ? PQresultErrorMessage(result.get()) : PQerrorMessage(database);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return "the outbox cannot be written: " + text;
}

[[nodiscard]] OutboxMessage message_of(const PgResult& rows, int row) {
  const auto text = [&](int column) { return std::string(rows.text(row, column)); };
  return {.type = text(2),
          .payload = text(6),
          .application = text(1),
          .channel = text(3),
          .ordering_key = text(4),
          .key = text(5)};
}

}  // namespace

std::optional<std::string> create_outbox(PGconn* database) {
  return error_of(ResultPtr(PQexec(database, kCreateInPostgres)), database);
}

Expected<std::string> enqueue(PGconn* database, const OutboxMessage& message) {
  if (auto error = find_error(message)) return unexpected(*std::move(error));
  std::string key = message.key.empty() ? http::make_idempotency_key() : message.key;
  const std::array<std::string_view, 6> texts = {
      message.application,  message.type, message.channel,
      message.ordering_key, key,          message.payload};
  const std::array<Oid, 6> types = {kTextOid, kTextOid, kTextOid, kTextOid, kTextOid, kByteaOid};
  const std::array<int, 6> formats = {1, 1, 1, 1, 1, 1};  // binary: bytes as they are
  std::array<const char*, 6> values{};
  std::array<int, 6> lengths{};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    values[i] = texts[i].empty() ? "" : texts[i].data();  // Never a null pointer: that is NULL.
    lengths[i] = static_cast<int>(texts[i].size());
  }
  const ResultPtr result(PQexecParams(database, kInsertInPostgres, static_cast<int>(texts.size()),
                                      types.data(), values.data(), lengths.data(), formats.data(),
                                      0));
  if (auto error = error_of(result, database)) return unexpected(*std::move(error));
  if (std::string_view(PQcmdTuples(result.get())) == "0") {
    return unexpected("the outbox has a message with the key " + key);
  }
  return key;
}

store::PgExpected<OutboxCounts> relay_outbox(store::PgConnection& database, const OutboxSink& sink,
                                             std::size_t most) {
  const auto fail = [&](const store::PgError& error) {
    if (!database.is_lost()) (void)database.execute("ROLLBACK");
    return unexpected(error);
  };
  const auto taken = database.query_all(std::array{
      PgCall{kBeginRelay}, PgCall{kTakeRows, PgParameters().add(static_cast<std::int64_t>(most))}});
  if (!taken) return fail(taken.error());
  const PgResult& rows = (*taken)[1];
  OutboxCounts counts;
  std::vector<OutboxMessage> messages;
  for (int row = 0; row < rows.rows(); ++row) messages.push_back(message_of(rows, row));
  const std::vector<OutboxAnswer> answers =
      messages.empty() ? std::vector<OutboxAnswer>() : sink(messages);
  DAMPER_CHECK(answers.size() == messages.size());
  std::vector<std::int64_t> accepted;
  std::vector<std::int64_t> refused;
  std::vector<std::string_view> sentences;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::int64_t number = rows.number(static_cast<int>(i), 0);
    switch (answers[i].kind) {
      case OutboxAnswer::Kind::accepted:
        accepted.push_back(number);
        if (answers[i].repeated) ++counts.repeated;
        break;
      case OutboxAnswer::Kind::refused:
        refused.push_back(number);
        sentences.emplace_back(answers[i].sentence);
        break;
      case OutboxAnswer::Kind::unavailable: ++counts.unavailable; break;
    }
  }
  counts.moved = accepted.size();
  counts.refused = refused.size();
  std::vector<PgCall> calls;
  if (!accepted.empty()) calls.push_back({kRemoveRows, PgParameters().add_array(accepted)});
  if (!refused.empty()) {
    calls.push_back({kKeepRows, PgParameters().add_array(refused).add_texts(sentences)});
  }
  calls.push_back({kEndRelay});
  // A commit whose answer is lost: the rows are gone, or they are sent again with their keys.
  if (auto done = database.query_all(calls); !done) return fail(done.error());
  return counts;
}

}  // namespace damper::webhooks
