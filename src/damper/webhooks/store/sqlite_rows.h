#pragma once

#include <string>

#include "damper/store/sqlite.h"
#include "damper/webhooks/store/sqlite_schema.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// The columns of a message, in the order in which read_message() reads them.
inline constexpr const char* kMessageColumns =
    "id, application, type, channel, ordering_key, idempotency_key, created, payload, traceparent";

[[nodiscard]] inline Message read_message(const store::Statement::Run& row) {
  return {.id = Id{row.number(0)},
          .application = std::string(row.bytes(1)),
          .type = std::string(row.bytes(2)),
          .channel = std::string(row.bytes(3)),
          .ordering_key = std::string(row.bytes(4)),
          .idempotency_key = std::string(row.bytes(5)),
          .payload = std::string(row.bytes(7)),
          .created = unix_time(row.number(6)),
          .traceparent = std::string(row.bytes(8))};
}

}  // namespace damper::webhooks
