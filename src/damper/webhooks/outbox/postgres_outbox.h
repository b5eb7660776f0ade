#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <optional>
#include <string>

#include "damper/base/expected.h"
#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/outbox/outbox.h"
#include "damper/webhooks/outbox/outbox_relay.h"

namespace damper::webhooks {

// The outbox of outbox.h in a database of PostgreSQL, with the caller's own PGconn:
//
//   if (auto error = webhooks::create_outbox(db)) ...            // once, with the own tables
//   PQexec(db, "BEGIN");
//   PQexec(db, "UPDATE invoice SET paid = true WHERE id = 7");
//   auto key = webhooks::enqueue(db, {.type = "invoice.paid", .payload = R"({"id": 7})"});
//   PQexec(db, key ? "COMMIT" : "ROLLBACK");
//
// Model: the table `damper_outbox` is in the first schema of the connection's search_path. The
// texts of a message are in the connection's client_encoding.
// Invariants: those of outbox.h, and
//   (3) Of relays beside each other, one sends a row: its lock is held from before the send until
//       the removal is committed, and the others skip it.
//   (4) A row with an ordering key is sent when no row of its key with a lower number is left,
//       whichever relay sends that one. Of transactions that overlap, the one that commits first
//       may be sent first.
// Thread safety: that of the connection. REQUIRES: the connection is not in pipeline mode, and no
// asynchronous command of it is in progress.

// Creates the table unless it exists. Several programs may call it at once.
[[nodiscard]] std::optional<std::string> create_outbox(PGconn* database);

// Inserts the message; the result is its idempotency key. The error is a sentence: nothing was
// written. An error of the database, unlike an invalid message or a key that is in the table, also
// ends what the transaction can do, as in any PostgreSQL transaction: roll it back.
[[nodiscard]] Expected<std::string> enqueue(PGconn* database, const OutboxMessage& message);

// As relay_outbox() of outbox_relay.h, in one transaction that is open while `sink` sends. If the
// connection is lost meanwhile, the rows are sent again, with the same keys. REQUIRES: no
// transaction has begun.
[[nodiscard]] store::PgExpected<OutboxCounts> relay_outbox(store::PgConnection& database,
                                                           const OutboxSink& sink,
                                                           std::size_t most);

}  // namespace damper::webhooks
