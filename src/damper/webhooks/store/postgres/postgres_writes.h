#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// PostgresWrites are the writes of configuration and state, redrive and retention: each is a
// transaction of its own. Those of messages and settlements are in postgres_deliveries.h.
//
// Model: a change of configuration locks the one row of `configuration`, adds 1 to its version, and
// notes what it changes in `change`, where the other dispatchers find it. So such changes are one
// after the other, and what one of them checks is still so when it writes.
// Errors: PgError is of the transaction: nothing was written.
// Thread safety: none; on the writer's thread.
class PostgresWrites {
 public:
  template <class T>
  using Result = store::PgExpected<Expected<T, StoreError>>;
  using Nothing = Store::Nothing;

  // `dispatcher` is this one's number.
  PostgresWrites(PostgresSession& session, const DatabaseClock& clock, std::int64_t dispatcher)
      : session_(session), clock_(clock), dispatcher_(dispatcher) {}

  Result<Nothing> put_application(const std::string& name, UnixTime created);
  Result<Nothing> remove_application(const std::string& name);
  // `config` is what is stored: encoded and sealed.
  Result<Nothing> put_endpoint(const Endpoint& endpoint, std::string_view config);
  Result<Nothing> remove_endpoint(Id endpoint);
  Result<Nothing> put_state(const EndpointState& state);
  Result<Nothing> put_setting(const std::string& name, const std::string& text);
  Result<Redriven> redrive(const RedriveFilter& filter, UnixTime now);
  Result<std::int64_t> prune(const Retention& retention);
  // Deletes some of what removed endpoints and applications have left; false: nothing is left.
  Result<bool> purge();

 private:
  [[nodiscard]] store::PgExpected<std::int64_t> prune_messages(const Retention& retention);

  PostgresSession& session_;
  const DatabaseClock& clock_;
  const std::int64_t dispatcher_;
  std::int64_t pruned_ = 0;  // the last message that prune_messages() has looked at
};

}  // namespace damper::webhooks
