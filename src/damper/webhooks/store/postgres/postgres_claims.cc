#include "damper/webhooks/store/postgres/postgres_claims.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "damper/webhooks/store/endpoint_codec.h"
#include "damper/webhooks/store/postgres/postgres_rows.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgParameters;
using store::PgResult;
using store::PgStatement;

constexpr PgStatement kLoadVersion{"load_version", "SELECT version FROM configuration"};
constexpr PgStatement kLoadApplications{"load_applications",
                                        "SELECT name FROM application ORDER BY name"};
constexpr PgStatement kLoadEndpoints{
    "load_endpoints", "SELECT id, application, created, config, version FROM endpoint ORDER BY id"};
constexpr PgStatement kLoadStates{"load_states",
                                  "SELECT endpoint, blocked_until, open_until, trips,"
                                  " failing_since, epoch FROM endpoint_state"};

// From endpoint to endpoint by seeks: how many deliveries each has makes no difference.
constexpr PgStatement kFindDue{
    "find_due",
    "WITH RECURSIVE waiting (endpoint) AS ("
    " (SELECT endpoint FROM delivery ORDER BY endpoint LIMIT 1)"
    " UNION ALL SELECT (SELECT d.endpoint FROM delivery d WHERE d.endpoint > w.endpoint"
    "  ORDER BY d.endpoint LIMIT 1) FROM waiting w WHERE w.endpoint IS NOT NULL)"
    " SELECT w.endpoint, least("
    "  (SELECT d.due FROM delivery d WHERE d.endpoint = w.endpoint AND NOT d.behind"
    "   ORDER BY d.due LIMIT 1),"
    "  (SELECT d.due FROM delivery d WHERE d.endpoint = w.endpoint AND d.behind AND NOT e.ordered"
    "   ORDER BY d.due LIMIT 1))"
    " FROM waiting w JOIN endpoint e ON e.id = w.endpoint ORDER BY w.endpoint"};

constexpr PgStatement kTakeProbe{
    "take_probe", "SELECT granted, retry_at FROM take_probe($1, $2, $3, $4, $5, $6, $7, $8)"};

// After kTakeProbe, in its transaction: the end of the lease names it.
constexpr PgStatement kProbeLease{"probe_lease",
                                  "SELECT probe_until FROM endpoint_state WHERE endpoint = $1"};
constexpr PgStatement kReturnProbe{
    "return_probe",
    "UPDATE endpoint_state SET probe_until = 0 WHERE endpoint = $1 AND probe_until = $2"};

// The time between two probes of a rate, in microseconds.
std::int64_t gap_of(const ProbeRequest::Rate& rate) {
  constexpr double kLongestGap = 1e12;
  return static_cast<std::int64_t>(1e6 / std::max(rate.rate_per_second, 1e6 / kLongestGap));
}

// $1, $2 after which message and endpoint, $3 before which message, $4 most, $5 this dispatcher.
constexpr PgStatement kFindOld{
    "find_old",
    "WITH others AS MATERIALIZED (SELECT coalesce(array_agg(number), '{}') AS numbers"
    "  FROM dispatcher WHERE alive_until > now_ms() AND number <> $5)"
    " SELECT d.message, d.endpoint, d.due, d.attempts, d.since, d.ordering_key, m.created, d.claim,"
    " d.claim <> 0 AND d.claim >> 32 = ANY ((SELECT numbers FROM others)::bigint[])"
    " FROM delivery d JOIN message m ON m.id = d.message"
    " WHERE (d.message, d.endpoint) > ($1, $2) AND d.message < $3"
    " ORDER BY d.message, d.endpoint LIMIT $4"};

UnixTime since_of(std::int64_t since, UnixTime created, const DatabaseClock& clock) {
  return since == 0 ? created : clock.to_host(since);
}

// $1 endpoint, $2 the simulated time or NULL, $3 most, $4 messages to skip, $5 this dispatcher's
// number, $6 the token, $7 from when on only first attempts, or NULL, $8 the epoch of the state
// that this dispatcher knows, or NULL.
#define DAMPER_CLOCKS                                                             \
  "WITH clock AS MATERIALIZED (SELECT coalesce($2::bigint, now_ms()) AS now),"    \
  " others AS MATERIALIZED (SELECT coalesce(array_agg(number), '{}') AS numbers"  \
  "  FROM dispatcher WHERE alive_until > now_ms() AND number <> $5),"             \
  " newer AS MATERIALIZED (SELECT endpoint, blocked_until, open_until, trips,"    \
  "  failing_since, epoch FROM endpoint_state WHERE endpoint = $1 AND epoch > $8" \
  "  AND changed_by <> $5)"
#define DAMPER_FREE                                                                 \
  " (d.claim = 0 OR d.claim >> 32 <> ALL ((SELECT numbers FROM others)::bigint[]))" \
  " AND d.message <> ALL ($4::bigint[]) AND (d.attempts = 0 OR $7::bigint IS NULL)"
// No other delivery of its key is in flight: of those that may be, the oldest. A younger one is in
// flight only if an older one came later.
#define DAMPER_KEY_IS_FREE                                                              \
  " AND (d.ordering_key = '' OR NOT EXISTS (SELECT 1 FROM (SELECT x.claim, x.message"   \
  "  FROM delivery x WHERE x.endpoint = d.endpoint AND x.ordering_key = d.ordering_key" \
  "  AND x.ordering_key <> '' AND x.behind ORDER BY x.message LIMIT 100) k"             \
  "  WHERE k.message = ANY ($4::bigint[]) OR (k.claim <> 0"                             \
  "  AND k.claim >> 32 = ANY ((SELECT numbers FROM others)::bigint[]))))"
#define DAMPER_DUE(BEHIND, MORE)                                                             \
  " (SELECT d.message, d.due FROM delivery d WHERE d.endpoint = $1 AND " BEHIND              \
  "  AND d.due >= coalesce($7::bigint, 0)"                                                   \
  "  AND d.due <= (SELECT now FROM clock) AND EXISTS (SELECT 1 FROM endpoint WHERE id = $1)" \
  "  AND NOT EXISTS (SELECT 1 FROM newer)"                                                   \
  "  AND" DAMPER_FREE MORE " ORDER BY d.due, d.message LIMIT $3 FOR UPDATE SKIP LOCKED)"
#define DAMPER_TAKE(CHOSEN)                                                              \
  ", taken AS (UPDATE delivery d SET claim = $6 FROM (" CHOSEN                           \
  ") c"                                                                                  \
  "  WHERE d.message = c.message AND d.endpoint = $1"                                    \
  "  RETURNING d.message, d.due, d.attempts, d.previous_delay, d.since)"                 \
  " SELECT t.due, t.attempts, t.previous_delay, m.id, m.application, m.type, m.channel," \
  " m.ordering_key, m.idempotency_key, m.created, m.payload, m.traceparent, t.since"     \
  " FROM taken t JOIN message m ON m.id = t.message ORDER BY t.due, t.message"
#define DAMPER_NEXT(BEHIND, MORE)                                         \
  " (SELECT d.due FROM delivery d WHERE d.endpoint = $1 AND " BEHIND      \
  "  AND d.due >= coalesce($7::bigint, 0)"                                \
  "  AND EXISTS (SELECT 1 FROM endpoint WHERE id = $1) AND d.claim <> $6" \
  "  AND" DAMPER_FREE MORE " ORDER BY d.due LIMIT 1)"

constexpr PgStatement kClaim{
    "claim",
    DAMPER_CLOCKS ", front AS MATERIALIZED" DAMPER_DUE(
        "NOT d.behind", "") ", rear AS MATERIALIZED" DAMPER_DUE("d.behind", "")
        DAMPER_TAKE("SELECT message FROM (SELECT * FROM front UNION ALL SELECT * FROM rear) b"
                    " ORDER BY due, message LIMIT $3")};
constexpr PgStatement kClaimByKey{
    "claim_by_key",
    DAMPER_CLOCKS ", front AS MATERIALIZED" DAMPER_DUE("NOT d.behind", DAMPER_KEY_IS_FREE)
        DAMPER_TAKE("SELECT message FROM front")};
// $2 and $3 are those of the claim.
#define DAMPER_FROM_CLOCK " FROM clock LEFT JOIN newer n ON true WHERE $3::bigint >= 0"
constexpr PgStatement kNext{
    "next_due", DAMPER_CLOCKS " SELECT n.*, least(" DAMPER_NEXT("NOT d.behind", "") "," DAMPER_NEXT(
                    "d.behind", "") ")" DAMPER_FROM_CLOCK};
constexpr PgStatement kNextByKey{"next_due_by_key", DAMPER_CLOCKS
                                 " SELECT n.*," DAMPER_NEXT("NOT d.behind", DAMPER_KEY_IS_FREE)
                                     DAMPER_FROM_CLOCK};
#undef DAMPER_CLOCKS
#undef DAMPER_FREE
#undef DAMPER_KEY_IS_FREE
#undef DAMPER_DUE
#undef DAMPER_TAKE
#undef DAMPER_NEXT
#undef DAMPER_FROM_CLOCK

}  // namespace

Expected<Endpoint, StoreError> read_endpoint(const PgResult& rows, int row,
                                             const PostgresUnseal& unseal) {
  Endpoint endpoint;
  endpoint.id = Id{rows.number(row, 0)};
  endpoint.application = rows.text(row, 1);
  endpoint.created = UnixTime{std::chrono::milliseconds(rows.number(row, 2))};
  const auto fail = [&](const std::string& why) {
    return unexpected(
        StoreError{StoreError::Kind::unavailable, "the configuration of the endpoint " +
                                                      id_text(kEndpointPrefix, endpoint.id) +
                                                      " cannot be read: " + why});
  };
  auto text = unseal ? unseal(endpoint.id, rows.text(row, 3))
                     : Expected<std::string>(std::string(rows.text(row, 3)));
  if (!text) return fail(text.error());
  auto config = decode(*text);
  if (!config) return fail(config.error());
  endpoint.config = *std::move(config);
  endpoint.version = rows.number(row, 4);
  return endpoint;
}

EndpointState read_state(const PgResult& rows, int row, const DatabaseClock& clock) {
  const auto time = [&](int column) {
    const std::int64_t ms = rows.number(row, column);
    return ms == 0 ? UnixTime{} : clock.to_host(ms);
  };
  EndpointState state{.endpoint = Id{rows.number(row, 0)},
                      .blocked_until = time(1),
                      .open_until = time(2),
                      .trips = static_cast<std::uint32_t>(rows.number(row, 3)),
                      .epoch = rows.number(row, 5)};
  if (rows.number(row, 4) != 0) state.failing_since = time(4);
  return state;
}

std::vector<Setting> read_settings(const PgResult& rows) {
  std::vector<Setting> settings;
  settings.reserve(static_cast<std::size_t>(rows.rows()));
  for (int row = 0; row < rows.rows(); ++row) {
    settings.emplace_back(rows.text(row, 0), rows.text(row, 1));
  }
  return settings;
}

PostgresClaims::Result<Store::Everything> PostgresClaims::load(std::int64_t& version) {
  using Outcome = Expected<Store::Everything, StoreError>;
  const auto loaded = session_.query_all(std::array{PgCall{kLoadVersion}, PgCall{kLoadApplications},
                                                    PgCall{kLoadEndpoints}, PgCall{kLoadStates},
                                                    PgCall{kLoadSettings}});
  if (!loaded) return unexpected(loaded.error());
  version = (*loaded)[0].number(0, 0);
  Store::Everything all;
  for (int row = 0; row < (*loaded)[1].rows(); ++row) {
    all.applications.emplace_back((*loaded)[1].text(row, 0));
  }
  for (int row = 0; row < (*loaded)[2].rows(); ++row) {
    auto endpoint = read_endpoint((*loaded)[2], row, unseal_);
    if (!endpoint) return Outcome(unexpected(endpoint.error()));
    all.endpoints.push_back(*std::move(endpoint));
  }
  for (int row = 0; row < (*loaded)[3].rows(); ++row) {
    all.states.push_back(read_state((*loaded)[3], row, clock_));
  }
  all.settings = read_settings((*loaded)[4]);
  all.configuration = version;
  return Outcome(std::move(all));
}

PostgresClaims::Result<std::vector<EndpointDue>> PostgresClaims::find_due() {
  const auto rows = session_.query({kFindDue});
  if (!rows) return unexpected(rows.error());
  std::vector<EndpointDue> found;
  for (int row = 0; row < rows->rows(); ++row) {
    if (rows->is_null(row, 1)) continue;
    found.push_back({Id{rows->number(row, 0)}, clock_.to_host(rows->number(row, 1))});
  }
  return Expected<std::vector<EndpointDue>, StoreError>(std::move(found));
}

PostgresClaims::Result<Claimed> PostgresClaims::claim(Id endpoint, UnixTime now, std::size_t most,
                                                      ClaimFilter filter,
                                                      const std::vector<Id>& skip) {
  const std::int64_t token = dispatcher_ << 32 | ++claims_;
  std::vector<std::int64_t> skipped;
  skipped.reserve(skip.size());
  for (const Id message : skip) skipped.push_back(number(message));
  PgParameters parameters = PgParameters().add(number(endpoint));
  if (clock_.is_simulated()) {
    parameters.add(now.time_since_epoch().count());
  } else {
    parameters.add_null();
  }
  parameters.add(static_cast<std::int64_t>(most)).add_array(skipped).add(dispatcher_).add(token);
  if (filter.firsts_from) {
    parameters.add(std::max<std::int64_t>(clock_.to_database(*filter.firsts_from), 0));
  } else {
    parameters.add_null();
  }
  if (filter.epoch) {
    parameters.add(*filter.epoch);
  } else {
    parameters.add_null();
  }
  const auto results =
      session_.query_all(std::array{PgCall{filter.by_key ? kClaimByKey : kClaim, parameters},
                                    PgCall{filter.by_key ? kNextByKey : kNext, parameters}});
  if (!results) return unexpected(results.error());
  const PgResult& rows = (*results)[0];
  const PgResult& next = (*results)[1];
  Claimed claimed;
  for (int row = 0; row < rows.rows(); ++row) {
    auto message = std::make_shared<const Message>(read_message(rows, row, 3));
    const UnixTime since = since_of(rows.number(row, 12), message->created, clock_);
    claimed.deliveries.push_back({.endpoint = endpoint,
                                  .due = clock_.to_host(rows.number(row, 0)),
                                  .attempts = static_cast<std::uint32_t>(rows.number(row, 1)),
                                  .previous_delay = Duration(rows.number(row, 2)),
                                  .claim = static_cast<std::uint64_t>(token),
                                  .since = since,
                                  .message = std::move(message)});
  }
  constexpr int kNextDue = 6;  // after the columns of read_state()
  if (next.rows() == 1 && !next.is_null(0, 0)) claimed.newer_state = read_state(next, 0, clock_);
  if (next.rows() == 1 && !next.is_null(0, kNextDue)) {
    claimed.next_due = clock_.to_host(next.number(0, kNextDue));
  }
  return Expected<Claimed, StoreError>(std::move(claimed));
}

PostgresClaims::Result<OldDeliveries> PostgresClaims::find_old(DeliveryPlace place, UnixTime before,
                                                               std::size_t most) {
  const auto rows = session_.query({kFindOld, PgParameters()
                                                  .add(number(place.message))
                                                  .add(number(place.endpoint))
                                                  .add(number(first_id(before)))
                                                  .add(static_cast<std::int64_t>(most))
                                                  .add(dispatcher_)});
  if (!rows) return unexpected(rows.error());
  OldDeliveries old;
  for (int row = 0; row < rows->rows(); ++row) {
    place = {.message = Id{rows->number(row, 0)}, .endpoint = Id{rows->number(row, 1)}};
    const UnixTime created{std::chrono::milliseconds(rows->number(row, 6))};
    const UnixTime since = since_of(rows->number(row, 4), created, clock_);
    if (since >= before || rows->boolean(row, 8)) continue;
    Message message{.id = place.message,
                    .application = {},
                    .type = {},
                    .ordering_key = std::string(rows->text(row, 5)),
                    .payload = {},
                    .created = created};
    old.deliveries.push_back({.endpoint = place.endpoint,
                              .due = clock_.to_host(rows->number(row, 2)),
                              .attempts = static_cast<std::uint32_t>(rows->number(row, 3)),
                              .claim = static_cast<std::uint64_t>(rows->number(row, 7)),
                              .since = since,
                              .message = std::make_shared<const Message>(std::move(message))});
  }
  if (rows->rows() == static_cast<int>(most)) old.next = place;
  return Expected<OldDeliveries, StoreError>(std::move(old));
}

PostgresClaims::Result<ProbeGrant> PostgresClaims::take_probe(const ProbeRequest& request) {
  const auto slack = [](const ProbeRequest::Rate& rate) {
    return gap_of(rate) * (std::max(rate.burst, 1) - 1);
  };
  const auto lease = std::chrono::ceil<std::chrono::milliseconds>(request.lease);
  const auto results = session_.query_all(
      std::array{PgCall{kTakeProbe, PgParameters()
                                        .add(number(request.endpoint))
                                        .add(request.epoch)
                                        .add(std::int64_t{lease.count()})
                                        .add_text("host " + request.host)
                                        .add(gap_of(request.of_host))
                                        .add(slack(request.of_host))
                                        .add(gap_of(request.of_all))
                                        .add(slack(request.of_all))},
                 PgCall{kProbeLease, PgParameters().add(number(request.endpoint))}});
  if (!results) return unexpected(results.error());
  const PgResult& row = (*results)[0];
  const PgResult& until = (*results)[1];
  return Expected<ProbeGrant, StoreError>(
      ProbeGrant{.granted = row.boolean(0, 0),
                 .retry = clock_.to_host(row.number(0, 1)),
                 .lease = until.rows() == 1 ? until.number(0, 0) : 0});
}

PostgresClaims::Result<Store::Nothing> PostgresClaims::return_probe(Id endpoint,
                                                                    std::int64_t lease) {
  auto done = session_.query({kReturnProbe, PgParameters().add(number(endpoint)).add(lease)});
  if (!done) return unexpected(done.error());
  return Expected<Store::Nothing, StoreError>(Store::Nothing{});
}

}  // namespace damper::webhooks
