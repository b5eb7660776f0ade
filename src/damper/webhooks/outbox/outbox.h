#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/sqlite.h"

namespace damper::webhooks {

// A message that is written in the caller's own transaction.
struct OutboxMessage {
  std::string type;     // "invoice.paid"
  std::string payload;  // a JSON text, sent byte for byte
  std::string application = "default";
  std::string channel{};       // empty: none
  std::string ordering_key{};  // empty: none
  // The idempotency key: 1 to 256 visible ASCII characters. Empty: enqueue() makes one.
  std::string key{};
};

// The transactional outbox: a table in the caller's database, `damper_outbox`. A message is
// inserted with the change that it reports, in one transaction: both are committed, or none is. An
// OutboxRelay moves committed rows to a dispatcher. postgres_outbox.h has the same for PostgreSQL.
//
//   if (auto error = webhooks::create_outbox(db)) ...            // once, with the own tables
//   sqlite3_exec(db, "BEGIN IMMEDIATE", ...);
//   sqlite3_exec(db, "UPDATE invoice SET paid = 1 WHERE id = 7", ...);
//   auto key = webhooks::enqueue(db, {.type = "invoice.paid", .payload = R"({"id": 7})"});
//   sqlite3_exec(db, key ? "COMMIT" : "ROLLBACK", ...);
//
// Why: a program that commits and then sends loses the message if it dies in between; one that
// sends first reports what may be rolled back.
// Invariants:
//   (1) enqueue() neither begins nor ends a transaction. Without one, the row is committed at once.
//   (2) A row is removed only after a dispatcher has accepted its message; its idempotency key
//       makes a second send of it the same message.
// Thread safety: that of the connection.

// One sentence on what is wrong with the message; nothing when it is valid.
[[nodiscard]] std::optional<std::string> find_error(const OutboxMessage& message);

// Creates the table unless it exists. A sentence: it cannot.
[[nodiscard]] std::optional<std::string> create_outbox(sqlite3* database);

// Inserts the message; the result is its idempotency key. The error is a sentence: the message is
// invalid, its key is in the table, or the database refuses; nothing was written then.
[[nodiscard]] Expected<std::string> enqueue(sqlite3* database, const OutboxMessage& message);

// A committed row.
struct OutboxRow {
  std::int64_t number = 0;  // in order of the inserts
  OutboxMessage message;
};

// The oldest rows that were not refused, at most one for each ordering key: so the second one of a
// key is sent after the first was accepted. Throws store::DatabaseError.
[[nodiscard]] std::vector<OutboxRow> read_outbox(store::Database& database, std::size_t most);

}  // namespace damper::webhooks
