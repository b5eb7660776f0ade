#pragma once

#include <string>
#include <vector>

#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// PostgresLists are the reads of people: pages of messages, attempts and dead letters, and counts.
//
// Cost: as SqliteLists: a page is a range of an index; but messages of an endpoint are found by
// reading the application's messages, newest first, and count() reads an index of each table.
// Errors: PgError. Thread safety: none; on its thread.
class PostgresLists {
 public:
  template <class T>
  using Result = store::PgExpected<Expected<T, StoreError>>;

  PostgresLists(PostgresSession& session, const DatabaseClock& clock)
      : session_(session), clock_(clock) {}

  [[nodiscard]] Result<std::vector<Message>> list_messages(const MessageFilter& filter,
                                                           const Page& page);
  [[nodiscard]] Result<MessageStatus> find_message(const std::string& application, Id id);
  [[nodiscard]] Result<std::vector<Attempt>> list_attempts(const AttemptFilter& filter,
                                                           const Page& page);
  [[nodiscard]] Result<std::vector<DeadLetter>> list_dead(Id endpoint, const Page& page);
  [[nodiscard]] Result<StoreCounts> count();

 private:
  PostgresSession& session_;
  const DatabaseClock& clock_;
};

}  // namespace damper::webhooks
