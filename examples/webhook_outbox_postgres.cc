// The outbox of webhooks in a program's own PostgreSQL database, and a relay to a dispatcher.

#include <libpq-fe.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "damper/webhooks/outbox/outbox_sinks.h"
#include "damper/webhooks/outbox/postgres_outbox.h"

namespace webhooks = damper::webhooks;
using namespace std::chrono_literals;

namespace {

void run(PGconn* db, const std::string& sql) {
  PGresult* const result = PQexec(db, sql.c_str());
  if (PQresultStatus(result) == PGRES_FATAL_ERROR) std::cerr << PQresultErrorMessage(result);
  PQclear(result);
}

// [enqueue]
// Marks the invoice as paid, and reports it: both, or nothing.
bool pay(PGconn* db, int invoice, bool fails) {
  run(db, "BEGIN");
  run(db, "UPDATE invoice SET paid = true WHERE id = " + std::to_string(invoice));
  const auto key = webhooks::enqueue(
      db, {.type = "invoice.paid", .payload = "{\"id\":" + std::to_string(invoice) + "}"});
  const bool good = key && !fails;
  run(db, good ? "COMMIT" : "ROLLBACK");
  return good;
}
// [/enqueue]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cout << "usage: webhook_outbox_postgres postgres://USER@HOST/DATABASE "
                 "http://DISPATCHER:8071\n";
    return 0;
  }
  const std::string url = argv[1];
  const std::unique_ptr<PGconn, decltype(&PQfinish)> db(PQconnectdb(url.c_str()), &PQfinish);
  run(db.get(), "CREATE TEMPORARY TABLE invoice(id int, paid boolean NOT NULL DEFAULT false)");
  run(db.get(), "INSERT INTO invoice VALUES (7), (8)");
  if (const auto error = webhooks::create_outbox(db.get())) {
    std::cerr << *error << '\n';
    return 1;
  }
  std::cout << "invoice 7: " << (pay(db.get(), 7, false) ? "committed" : "rolled back") << '\n'
            << "invoice 8: " << (pay(db.get(), 8, true) ? "committed" : "rolled back") << std::endl;
  // [relay]
  auto relay = webhooks::OutboxRelay::start({.path = url}, webhooks::api_sink({.server = argv[2]}));
  if (!relay) std::cerr << relay.error() << '\n';
  // [/relay]
  if (!relay) return 1;
  for (int i = 0; i < 1000 && (*relay)->counts().moved == 0; ++i) std::this_thread::sleep_for(5ms);
  std::cout << "moved " << (*relay)->counts().moved << '\n';
}
