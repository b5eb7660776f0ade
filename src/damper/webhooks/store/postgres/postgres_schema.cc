#include "damper/webhooks/store/postgres/postgres_schema.h"

#include <array>
#include <cstdint>

namespace damper::webhooks {
namespace {

using store::PgConnection;

// delivery.behind: another delivery of its endpoint and ordering key has an older message.
// delivery.claim: 0, or the token of the claim: the dispatcher's number in the upper half.
//   A claim changes no indexed column, so that the new row stays in its page (fillfactor).
// dispatcher: its claims are leased until alive_until, which it extends.
// last_write: written by each transaction of the dispatcher, so that it can find out whether a
//   commit whose answer was lost has happened. Not by its transaction id: the server may use that
//   again after a crash.
// endpoint_state.epoch: each change adds 1. probe_until: the lease of a probe.
// probe_rate.next_at: of the rate's next probe, in microseconds: a token bucket as one time (GCRA).
//   The rate of all has the name ''.
// configuration, change: what the other dispatchers have to load; one row is locked by each change,
//   so that versions are committed in order. A change of no application and no endpoint is one of
//   the settings. setting.text is empty if it was removed: the others have to know.
// endpoint.version: each change adds 1. A change by a dispatcher that knows an older one is
// refused,
//   or it would bring back a secret that was revoked.
// Vacuum by count, not by fraction: the dead rows at the front of an index are what a claim reads.
constexpr const char* kVersion1 = R"sql(
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE SEQUENCE dispatcher_number MAXVALUE 2147483647;
CREATE TABLE dispatcher (number bigint PRIMARY KEY, alive_until bigint NOT NULL)
  WITH (fillfactor = 50);
CREATE TABLE last_write (dispatcher bigint PRIMARY KEY, number bigint NOT NULL)
  WITH (fillfactor = 50);

CREATE TABLE configuration (version bigint NOT NULL);
INSERT INTO configuration VALUES (0);
CREATE TABLE change (
  version bigint NOT NULL, application text NOT NULL, endpoint bigint NOT NULL,
  dispatcher bigint NOT NULL, time bigint NOT NULL);
CREATE INDEX change_by_version ON change (version);

CREATE TABLE setting (
  name text PRIMARY KEY, text text NOT NULL, version bigint NOT NULL, dispatcher bigint NOT NULL);
CREATE TABLE application (name text PRIMARY KEY, created bigint NOT NULL);
CREATE TABLE endpoint (
  id bigint PRIMARY KEY, application text NOT NULL, created bigint NOT NULL,
  ordered boolean NOT NULL, config bytea NOT NULL, version bigint NOT NULL);
CREATE INDEX endpoint_by_application ON endpoint (application);
CREATE TABLE removed_endpoint (id bigint PRIMARY KEY, time bigint NOT NULL);
CREATE TABLE removed_application (name text PRIMARY KEY);

CREATE TABLE endpoint_state (
  endpoint bigint PRIMARY KEY, epoch bigint NOT NULL, blocked_until bigint NOT NULL,
  open_until bigint NOT NULL, trips bigint NOT NULL, failing_since bigint NOT NULL,
  probe_until bigint NOT NULL DEFAULT 0, changed bigint NOT NULL, changed_by bigint NOT NULL);
CREATE INDEX endpoint_state_by_change ON endpoint_state (changed);
CREATE TABLE probe_rate (name text PRIMARY KEY, next_at bigint NOT NULL) WITH (fillfactor = 50);

CREATE FUNCTION take_probe(
  id bigint, known_epoch bigint, lease bigint, host text, host_gap bigint, host_slack bigint,
  all_gap bigint, all_slack bigint, OUT granted boolean, OUT retry_at bigint)
LANGUAGE plpgsql AS $$
DECLARE
  now bigint := now_ms();
  state endpoint_state;
  all_at bigint;
  host_at bigint;
BEGIN
  granted := false;
  IF known_epoch = 0 THEN
    INSERT INTO endpoint_state SELECT e.id, 0, 0, 0, 0, 0, 0, now, 0 FROM endpoint e
      WHERE e.id = take_probe.id ON CONFLICT DO NOTHING;
  END IF;
  SELECT * INTO state FROM endpoint_state s WHERE s.endpoint = take_probe.id FOR UPDATE;
  IF NOT FOUND OR state.epoch <> known_epoch THEN
    retry_at := now + 1000;
    RETURN;
  END IF;
  retry_at := greatest(state.open_until, state.probe_until);
  IF retry_at > now THEN RETURN; END IF;
  INSERT INTO probe_rate VALUES ('', 0), (host, 0) ON CONFLICT DO NOTHING;
  SELECT next_at INTO all_at FROM probe_rate WHERE name = '' FOR UPDATE;
  SELECT next_at INTO host_at FROM probe_rate WHERE name = host FOR UPDATE;
  retry_at := (greatest(all_at - all_slack, host_at - host_slack) + 999) / 1000;
  IF retry_at > now THEN RETURN; END IF;
  UPDATE probe_rate SET next_at = greatest(next_at, now * 1000) + all_gap WHERE name = '';
  UPDATE probe_rate SET next_at = greatest(next_at, now * 1000) + host_gap WHERE name = host;
  UPDATE endpoint_state s SET probe_until = now + lease WHERE s.endpoint = take_probe.id;
  granted := true;
END $$;

CREATE TABLE message (
  id bigint PRIMARY KEY, application text NOT NULL, type text NOT NULL, channel text NOT NULL,
  ordering_key text NOT NULL, idempotency_key text NOT NULL, created bigint NOT NULL,
  payload bytea NOT NULL);
CREATE INDEX message_by_application ON message (application, id);
CREATE INDEX message_by_type ON message (application, type, id);
CREATE UNIQUE INDEX message_by_key ON message (application, idempotency_key)
  WHERE idempotency_key <> '';

CREATE TABLE delivery (
  message bigint NOT NULL, endpoint bigint NOT NULL, due bigint NOT NULL, claim bigint NOT NULL,
  attempts bigint NOT NULL, previous_delay bigint NOT NULL, behind boolean NOT NULL,
  ordering_key text NOT NULL, PRIMARY KEY (message, endpoint))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
        autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_by_due ON delivery (endpoint, behind, due, message);
CREATE INDEX delivery_by_key ON delivery (endpoint, ordering_key, behind, message)
  WHERE ordering_key <> '';

CREATE TABLE attempt (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message bigint NOT NULL,
  endpoint bigint NOT NULL, attempt bigint NOT NULL, time bigint NOT NULL,
  duration bigint NOT NULL, status bigint NOT NULL, outcome text NOT NULL, error text NOT NULL,
  answer bytea NOT NULL)
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX attempt_by_message ON attempt (message, number);
CREATE INDEX attempt_by_endpoint ON attempt (endpoint, number);

CREATE TABLE dead (
  endpoint bigint NOT NULL, message bigint NOT NULL, time bigint NOT NULL,
  attempts bigint NOT NULL, reason text NOT NULL, PRIMARY KEY (endpoint, message));
CREATE INDEX dead_by_message ON dead (message);
CREATE INDEX dead_by_time ON dead (time);
)sql";

// traceparent: of the trace that a message belongs to. since: from when the age of a delivery
// counts, its acceptance or its last redrive; 0, of version 1: from its message's creation.
constexpr const char* kVersion2 = R"sql(
ALTER TABLE message ADD COLUMN traceparent text NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN since bigint NOT NULL DEFAULT 0;
)sql";

// The next version is added here; one that was released is never changed.
constexpr std::array kMigrations = {kVersion1, kVersion2};

constexpr store::PgStatement kHasSchema{"has_schema",
                                        "SELECT count(*) FROM pg_namespace WHERE nspname = $1"};
constexpr store::PgStatement kHasTables{"has_tables",
                                        "SELECT (to_regclass('schema_version') IS NOT NULL)"};
constexpr store::PgStatement kGetVersion{"get_version",
                                         "SELECT coalesce(max(version), 0) FROM schema_version"};

store::PgExpected<bool> migrate(PgConnection& database, const std::string& schema) {
  auto found = database.query({kHasSchema, store::PgParameters().add_text(schema)});
  if (!found) return unexpected(found.error());
  // Not IF NOT EXISTS, which needs the right to create one in any case.
  std::string sql = found->number(0, 0) == 0 ? "CREATE SCHEMA " + quoted(schema) + "; " : "";
  sql += "SET search_path = " + quoted(schema);
  if (auto done = database.execute(sql); !done) return done;
  auto has_tables = database.query({kHasTables});
  if (!has_tables) return unexpected(has_tables.error());
  if (!has_tables->boolean(0, 0)) {
    if (auto done = database.execute("CREATE TABLE schema_version (version bigint PRIMARY KEY)");
        !done) {
      return done;
    }
  }
  auto version = database.query({kGetVersion});
  if (!version) return unexpected(version.error());
  const auto known = static_cast<std::int64_t>(kMigrations.size());
  if (version->number(0, 0) > known) {
    return unexpected(
        store::PgError{"its tables have version " + std::to_string(version->number(0, 0)) +
                           ", this program knows versions up to " + std::to_string(known),
                       "XX000"});
  }
  for (std::int64_t next = version->number(0, 0) + 1; next <= known; ++next) {
    auto done = database.execute(
        "BEGIN; " + std::string(kMigrations[static_cast<std::size_t>(next - 1)]) +
        "; INSERT INTO schema_version VALUES (" + std::to_string(next) + "); COMMIT");
    if (!done) {
      (void)database.execute("ROLLBACK");
      return done;
    }
  }
  return true;
}

}  // namespace

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

// FNV-1a.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) noexcept {
  std::uint64_t hash = seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

Expected<bool> prepare_database(const store::PostgresUrl& url, const std::string& schema) {
  const auto fail = [&](const store::PgError& error) {
    if (error.is_lost()) return unexpected(error.sentence);
    return unexpected("the webhook store " + url.text() + " cannot be used: " + error.sentence);
  };
  auto opened = PgConnection::open(url);
  if (!opened) return fail(opened.error());
  PgConnection& database = **opened;
  // The session's lock: it is released when the connection is closed.
  const auto lock = std::to_string(static_cast<std::int64_t>(stable_hash(schema)));
  if (auto locked = database.execute("SET client_min_messages = warning; SET lock_timeout = '60s';"
                                     " SELECT pg_advisory_lock(" +
                                     lock + ")");
      !locked) {
    return fail(locked.error());
  }
  if (auto migrated = migrate(database, schema); !migrated) return fail(migrated.error());
  return true;
}

}  // namespace damper::webhooks
