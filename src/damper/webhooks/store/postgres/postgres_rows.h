#pragma once

#include <string>

#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// A message of the columns id, application, type, channel, ordering_key, idempotency_key, created,
// payload, traceparent, from column `first` on.
[[nodiscard]] inline Message read_message(const store::PgResult& rows, int row, int first) {
  const auto text = [&](int column) { return std::string(rows.text(row, first + column)); };
  return {.id = Id{rows.number(row, first)},
          .application = text(1),
          .type = text(2),
          .channel = text(3),
          .ordering_key = text(4),
          .idempotency_key = text(5),
          .payload = text(7),
          .created = UnixTime{std::chrono::milliseconds(rows.number(row, first + 6))},
          .traceparent = text(8)};
}

}  // namespace damper::webhooks
