#pragma once

#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// SqliteLists are the reads of people: pages of messages, attempts and dead letters, and counts.
//
// Why apart from SqliteClaims: they may read many rows, and deliveries do not wait for them.
// Cost: a page is a range of an index; but messages of an endpoint are found by reading the
// application's messages, newest first, and count() reads an index of each table.
// Errors: DatabaseError. Thread safety: none; on its thread.
class SqliteLists {
 public:
  explicit SqliteLists(store::Database& file);

  // Those that wait for the endpoint, are dead for it, or have an attempt of it in the log.
  [[nodiscard]] std::vector<Message> list_messages(const MessageFilter& filter, const Page& page);
  [[nodiscard]] Expected<MessageStatus, StoreError> find_message(const std::string& application,
                                                                 Id id);
  [[nodiscard]] std::vector<Attempt> list_attempts(const AttemptFilter& filter, const Page& page);
  [[nodiscard]] std::vector<DeadLetter> list_dead(Id endpoint, const Page& page);
  [[nodiscard]] StoreCounts count();

 private:
  store::Database& file_;
};

}  // namespace damper::webhooks
