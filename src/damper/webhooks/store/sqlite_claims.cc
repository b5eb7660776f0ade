#include "damper/webhooks/store/sqlite_claims.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "damper/webhooks/store/endpoint_codec.h"
#include "damper/webhooks/store/sqlite_rows.h"
#include "damper/webhooks/store/sqlite_schema.h"

namespace damper::webhooks {
namespace {

using ClaimRun = store::Statement::Run;

// Both kinds in order of `due`: two ranges of the primary key, merged.
constexpr const char* kDue =
    "SELECT due, message, attempts, previous_delay, ordering_key, since FROM delivery"
    " WHERE endpoint = ?1 AND behind = 0 AND due >= ?2 AND EXISTS (SELECT 1 FROM endpoint WHERE id "
    "= ?1)"
    " UNION ALL SELECT due, message, attempts, previous_delay, ordering_key, since FROM delivery"
    " WHERE endpoint = ?1 AND behind = 1 AND due >= ?2 AND EXISTS (SELECT 1 FROM endpoint WHERE id "
    "= ?1)"
    " ORDER BY 1, 2";
constexpr const char* kDueByKey =
    "SELECT due, message, attempts, previous_delay, ordering_key, since FROM delivery"
    " WHERE endpoint = ?1 AND behind = 0 AND due >= ?2 AND EXISTS (SELECT 1 FROM endpoint WHERE id "
    "= ?1)"
    " ORDER BY due, message";

constexpr const char* kOld =
    "SELECT d.message, d.endpoint, d.due, d.attempts, d.since, d.ordering_key, m.created"
    " FROM delivery d INDEXED BY delivery_by_message JOIN message m ON m.id = d.message"
    " WHERE (d.message, d.endpoint) > (?1, ?2) AND d.message < ?3"
    " ORDER BY d.message, d.endpoint LIMIT ?4";

[[nodiscard]] UnixTime since_of(std::int64_t since, UnixTime created) {
  return since == 0 ? created : unix_time(since);
}

}  // namespace

SqliteClaims::SqliteClaims(store::Database& file, Unseal unseal)
    : file_(file),
      unseal_(std::move(unseal)),
      next_endpoint_(file,
                     "SELECT endpoint, due, EXISTS (SELECT 1 FROM endpoint WHERE id = endpoint)"
                     " FROM delivery WHERE endpoint > ?1"
                     " ORDER BY endpoint, behind, due LIMIT 1"),
      first_behind_(file,
                    "SELECT due FROM delivery WHERE endpoint = ?1 AND behind = 1"
                    " AND (SELECT ordered FROM endpoint WHERE id = ?1) = 0"
                    " ORDER BY due LIMIT 1"),
      due_(file, kDue),
      due_by_key_(file, kDueByKey),
      old_(file, kOld),
      find_key_(file, "SELECT ordering_key FROM delivery WHERE message = ?1 AND endpoint = ?2"),
      find_message_(file,
                    std::string("SELECT ") + kMessageColumns + " FROM message WHERE id = ?1") {}

Expected<Endpoint> SqliteClaims::read_endpoint(const ClaimRun& row) const {
  Endpoint endpoint;
  endpoint.id = Id{row.number(0)};
  endpoint.application = row.bytes(1);
  endpoint.created = unix_time(row.number(2));
  const auto text = unseal_(endpoint.id, row.bytes(3));
  if (!text) return unexpected(text.error());
  auto config = decode(*text);
  if (!config) return unexpected(std::move(config).take_error());
  endpoint.config = *std::move(config);
  return endpoint;
}

Expected<Store::Everything, StoreError> SqliteClaims::load() {
  Store::Everything everything;
  const store::Statement applications(file_, "SELECT name FROM application ORDER BY name");
  for (ClaimRun run(applications); run.step();) everything.applications.emplace_back(run.bytes(0));
  const store::Statement endpoints(
      file_, "SELECT id, application, created, config FROM endpoint ORDER BY id");
  for (ClaimRun run(endpoints); run.step();) {
    auto endpoint = read_endpoint(run);
    if (!endpoint) {
      return unexpected(StoreError{StoreError::Kind::unavailable,
                                   "the configuration of the endpoint " +
                                       id_text(kEndpointPrefix, Id{run.number(0)}) +
                                       " cannot be read: " + endpoint.error()});
    }
    everything.endpoints.push_back(*std::move(endpoint));
  }
  const store::Statement states(
      file_,
      "SELECT endpoint, blocked_until, open_until, trips, failing_since FROM endpoint_state");
  for (ClaimRun run(states); run.step();) {
    everything.states.push_back({.endpoint = Id{run.number(0)},
                                 .blocked_until = unix_time(run.number(1)),
                                 .open_until = unix_time(run.number(2)),
                                 .trips = static_cast<std::uint32_t>(run.number(3))});
    if (run.number(4) != 0) everything.states.back().failing_since = unix_time(run.number(4));
  }
  const store::Statement settings(file_, "SELECT name, text FROM setting ORDER BY name");
  for (ClaimRun run(settings); run.step();) {
    everything.settings.emplace_back(run.bytes(0), run.bytes(1));
  }
  return everything;
}

std::vector<EndpointDue> SqliteClaims::find_due() {
  std::vector<EndpointDue> found;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (;;) {
    ClaimRun next(next_endpoint_);
    if (!next.bind(last).step()) return found;
    last = next.number(0);
    if (next.number(2) == 0) continue;  // It was removed.
    std::int64_t due = next.number(1);
    ClaimRun behind(first_behind_);
    if (behind.bind(last).step()) due = std::min(due, behind.number(0));
    found.push_back({Id{last}, unix_time(due)});
  }
}

std::unordered_set<std::string> SqliteClaims::find_keys(Id endpoint,
                                                        const std::vector<Id>& messages) {
  std::unordered_set<std::string> keys;
  for (const Id message : messages) {
    ClaimRun run(find_key_);
    if (run.bind(number(message)).bind(number(endpoint)).step() && !run.bytes(0).empty()) {
      keys.emplace(run.bytes(0));
    }
  }
  return keys;
}

Claimed SqliteClaims::claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter,
                            const std::vector<Id>& skip) {
  // One transaction: the deliveries, their keys and their messages are of one state.
  const store::ReadTransaction transaction(file_);
  const std::unordered_set<Id> skipped(skip.begin(), skip.end());
  std::optional<std::unordered_set<std::string>> busy;  // keys in flight; read if it matters
  Claimed claimed;
  ClaimRun run(filter.by_key ? due_by_key_ : due_);
  run.bind(number(endpoint))
      .bind(filter.firsts_from ? ms(*filter.firsts_from)
                               : std::numeric_limits<std::int64_t>::min());
  while (run.step()) {
    const Id message{run.number(1)};
    if (skipped.contains(message) || (filter.firsts_from && run.number(2) > 0)) continue;
    if (filter.by_key && !skip.empty() && !run.bytes(4).empty()) {
      if (!busy) busy = find_keys(endpoint, skip);
      if (busy->contains(std::string(run.bytes(4)))) continue;
    }
    const UnixTime due = unix_time(run.number(0));
    if (due > now || claimed.deliveries.size() >= most) {
      claimed.next_due = due;
      break;
    }
    ClaimRun body(find_message_);
    if (!body.bind(number(message)).step()) continue;
    auto read = std::make_shared<const Message>(read_message(body));
    const UnixTime since = since_of(run.number(5), read->created);
    claimed.deliveries.push_back({.endpoint = endpoint,
                                  .due = due,
                                  .attempts = static_cast<std::uint32_t>(run.number(2)),
                                  .previous_delay = Duration(run.number(3)),
                                  .since = since,
                                  .message = std::move(read)});
  }
  return claimed;
}

OldDeliveries SqliteClaims::find_old(DeliveryPlace place, UnixTime before, std::size_t most) {
  OldDeliveries old;
  std::size_t rows = 0;
  ClaimRun run(old_);
  run.bind(number(place.message))
      .bind(number(place.endpoint))
      .bind(number(first_id(before)))
      .bind(static_cast<std::int64_t>(most));
  while (run.step()) {
    place = {.message = Id{run.number(0)}, .endpoint = Id{run.number(1)}};
    ++rows;
    const UnixTime created = unix_time(run.number(6));
    const UnixTime since = since_of(run.number(4), created);
    if (since >= before) continue;
    Message message{.id = place.message,
                    .application = {},
                    .type = {},
                    .ordering_key = std::string(run.bytes(5)),
                    .payload = {},
                    .created = created};
    old.deliveries.push_back({.endpoint = place.endpoint,
                              .due = unix_time(run.number(2)),
                              .attempts = static_cast<std::uint32_t>(run.number(3)),
                              .since = since,
                              .message = std::make_shared<const Message>(std::move(message))});
  }
  if (rows == most) old.next = place;
  return old;
}

}  // namespace damper::webhooks
