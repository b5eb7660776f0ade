#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

using PostgresUnseal = std::function<Expected<std::string>(Id endpoint, std::string_view sealed)>;

// The columns of an endpoint and of its state, in the order in which they are read.
inline constexpr const char* kEndpointColumns = "id, application, created, config, version";
inline constexpr const char* kStateColumns =
    "endpoint, blocked_until, open_until, trips, failing_since, epoch";
[[nodiscard]] Expected<Endpoint, StoreError> read_endpoint(const store::PgResult& rows, int row,
                                                           const PostgresUnseal& unseal);
inline constexpr store::PgStatement kLoadSettings{"load_settings",
                                                  "SELECT name, text FROM setting WHERE text <> ''"
                                                  " ORDER BY name"};
[[nodiscard]] std::vector<Setting> read_settings(const store::PgResult& rows);
[[nodiscard]] EndpointState read_state(const store::PgResult& rows, int row,
                                       const DatabaseClock& clock);

// PostgresClaims are the reads of a dispatcher, and its claims.
//
// Model: a claim writes its token into the delivery; the upper half of the token is the
// dispatcher's number. It is the dispatcher's while that one is alive, by its row in `dispatcher`
// and the database's clock; so nothing has to be renewed for each delivery, and nothing scanned
// when a dispatcher dies.
// Invariants:
//   (1) Of two claims at once, one gets a delivery: rows that another transaction has locked are
//       skipped.
//   (2) A claim reads at most `most` + skip.size() + 1 free deliveries of each kind, and those that
//       the other dispatchers have in flight; how many wait makes no difference.
// Errors: PgError. Thread safety: none; on its thread.
class PostgresClaims {
 public:
  template <class T>
  using Result = store::PgExpected<Expected<T, StoreError>>;

  PostgresClaims(PostgresSession& session, const DatabaseClock& clock, PostgresUnseal unseal,
                 std::int64_t dispatcher)
      : session_(session), clock_(clock), unseal_(std::move(unseal)), dispatcher_(dispatcher) {}

  // `version` is set to that of the configuration, or an earlier one.
  [[nodiscard]] Result<Store::Everything> load(std::int64_t& version);
  [[nodiscard]] Result<std::vector<EndpointDue>> find_due();
  [[nodiscard]] Result<Claimed> claim(Id endpoint, UnixTime now, std::size_t most,
                                      ClaimFilter filter, const std::vector<Id>& skip);
  [[nodiscard]] Result<OldDeliveries> find_old(DeliveryPlace place, UnixTime before,
                                               std::size_t most);
  [[nodiscard]] Result<ProbeGrant> take_probe(const ProbeRequest& request);
  [[nodiscard]] Result<Store::Nothing> return_probe(Id endpoint, std::int64_t lease);

 private:
  PostgresSession& session_;
  const DatabaseClock& clock_;
  const PostgresUnseal unseal_;
  const std::int64_t dispatcher_;
  std::uint32_t claims_ = 0;
};

}  // namespace damper::webhooks
