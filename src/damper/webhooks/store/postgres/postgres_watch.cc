#include "damper/webhooks/store/postgres/postgres_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "damper/base/check.h"
#include "damper/run/clock.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgParameters;
using store::PgStatement;

constexpr std::size_t kMostNamed = 300;      // endpoints in a notification of 8000 bytes
constexpr std::int64_t kOverlapMs = 10'000;  // longer than a write of a state takes to commit
constexpr Duration kPause = std::chrono::milliseconds(250);  // after an error

constexpr PgStatement kNextNumber{"next_number", "SELECT nextval('dispatcher_number')"};
constexpr PgStatement kFirstMark{"first_mark",
                                 "INSERT INTO last_write (dispatcher, number) VALUES ($1, 0)"};
constexpr PgStatement kRenew{
    "renew",
    "INSERT INTO dispatcher (number, alive_until) VALUES ($1, now_ms() + $2)"
    " ON CONFLICT (number) DO UPDATE SET alive_until = excluded.alive_until RETURNING now_ms()"};
constexpr PgStatement kOthers{
    "others", "SELECT number FROM dispatcher WHERE alive_until > now_ms() AND number <> $1"};
constexpr PgStatement kLeave{"leave", "DELETE FROM dispatcher WHERE number = $1"};
constexpr PgStatement kNotify{"notify", "SELECT count(pg_notify($1, $2))"};
constexpr PgStatement kVersion{"version", "SELECT version FROM configuration"};
// Of others; of settings (a change without a name), the own ones as well: see kSettingsSince.
constexpr PgStatement kChanges{
    "changes",
    "SELECT version, application, endpoint FROM change WHERE version > $1"
    " AND (dispatcher <> $2 OR (application = '' AND endpoint = 0)) ORDER BY version"};
constexpr PgStatement kApplications{"applications",
                                    "SELECT name FROM application WHERE name = ANY ($1::text[])"};
constexpr PgStatement kEndpoints{"endpoints",
                                 "SELECT id, application, created, config, version FROM endpoint"
                                 " WHERE id = ANY ($1::bigint[])"};
// Own ones, too: another dispatcher's setting that was read before this one replaced it may be
// reported after that; what is in the database is then reported last.
constexpr PgStatement kSettingsSince{
    "settings_since", "SELECT name, text FROM setting WHERE version > $1 ORDER BY name"};
constexpr PgStatement kStates{
    "states",
    "SELECT endpoint, blocked_until, open_until, trips, failing_since, epoch FROM endpoint_state"
    " WHERE endpoint = ANY ($1::bigint[])"};
constexpr PgStatement kStatesSince{
    "states_since",
    "SELECT endpoint, blocked_until, open_until, trips, failing_since, epoch FROM endpoint_state"
    " WHERE changed > $1 AND changed_by <> $2"};

std::int64_t lease_ms(Duration lease) {
  return std::chrono::ceil<std::chrono::milliseconds>(lease).count();
}

std::string payload_of(char kind, const std::set<Id>& ids) {
  std::string text(1, kind);
  for (const Id id : ids) text += ' ' + std::to_string(number(id));
  return text;
}

void read_ids(std::string_view text, std::set<Id>& ids) {
  const char* next = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (next < end) {
    std::int64_t id = 0;
    const auto [after, error] = std::from_chars(next + 1, end, id);
    if (error != std::errc{}) return;
    ids.insert(Id{id});
    next = after;
  }
}

}  // namespace

store::PgExpected<std::int64_t> register_dispatcher(PostgresSession& session, DatabaseClock& clock,
                                                    Duration lease) {
  const auto next = session.query({kNextNumber});
  if (!next) return unexpected(next.error());
  const std::int64_t number = next->number(0, 0);
  const auto marked = session.query({kFirstMark, PgParameters().add(number)});
  if (!marked) return unexpected(marked.error());
  const auto renewed = session.query({kRenew, PgParameters().add(number).add(lease_ms(lease))});
  if (!renewed) return unexpected(renewed.error());
  clock.set(renewed->number(0, 0), run::wall_time());
  return number;
}

PostgresWatch::PostgresWatch(PostgresSession session, DatabaseClock& clock, PostgresUnseal unseal,
                             std::int64_t dispatcher, Times times, std::function<void()> poll)
    : session_(std::move(session)),
      clock_(clock),
      unseal_(std::move(unseal)),
      dispatcher_(dispatcher),
      times_(times),
      poll_(std::move(poll)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { loop(); }) {
  DAMPER_CHECK(wake_ >= 0);
}

void PostgresWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
  (void)::close(wake_);
}

void PostgresWatch::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void PostgresWatch::watch(std::int64_t version, std::function<void(StoreChange)> on_change) {
  {
    const std::lock_guard lock(mutex_);
    version_ = version;
    on_change_ = std::move(on_change);
    watching_ = true;
  }
  wake();
}

void PostgresWatch::refresh(Refreshed done) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) refreshes_.push_back(std::exchange(done, nullptr));
  }
  if (done) return finish_refreshes({std::move(done)}, false);
  wake();
}

void PostgresWatch::finish_refreshes(const std::vector<Refreshed>& waiting, bool good) {
  const StoreError error{StoreError::Kind::unavailable,
                         "the configuration of the webhook store cannot be read"};
  for (const Refreshed& done : waiting) done(good ? nullptr : &error);
}

void PostgresWatch::report(StoreChange change) {
  std::function<void(StoreChange)> on_change;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !watching_) return;
    on_change = on_change_;
  }
  on_change(std::move(change));
}

void PostgresWatch::on_due(std::span<const Id> endpoints) {
  if (alone_ || endpoints.empty()) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = to_send_.is_empty();
    if (to_send_.due.size() > kMostNamed) to_send_.all_due = true;
    if (!to_send_.all_due) to_send_.due.insert(endpoints.begin(), endpoints.end());
  }
  if (first) wake();
}

void PostgresWatch::on_configured() {
  {
    const std::lock_guard lock(mutex_);
    to_send_.configuration = true;
  }
  wake();
}

void PostgresWatch::on_state(Id endpoint) {
  {
    const std::lock_guard lock(mutex_);
    to_send_.states.insert(endpoint);
  }
  wake();
}

// Notifications that came with the answer of a statement are read before the socket is.
void PostgresWatch::wait(Duration time) {
  read_notifications(arrived_);
  if (!arrived_.is_empty()) return;
  auto connection = session_.connect();
  std::array<pollfd, 2> descriptors = {
      pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
      pollfd{.fd = connection ? (*connection)->descriptor() : -1, .events = POLLIN, .revents = 0}};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Duration{0}));
  (void)::poll(descriptors.data(), descriptors.size(), static_cast<int>(ms.count()));
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
}

// False: the database could not be reached.
bool PostgresWatch::renew() {
  const auto results = session_.query_all(
      std::array{PgCall{kRenew, PgParameters().add(dispatcher_).add(lease_ms(times_.lease))},
                 PgCall{kOthers, PgParameters().add(dispatcher_)}});
  if (!results) return false;
  clock_.set((*results)[0].number(0, 0), run::wall_time());
  std::set<std::int64_t> others;
  for (int row = 0; row < (*results)[1].rows(); ++row) {
    others.insert((*results)[1].number(row, 0));
  }
  const bool gone = !std::includes(others.begin(), others.end(), others_.begin(), others_.end());
  others_ = std::move(others);
  alone_ = others_.empty();
  if (gone) poll_();  // Its claims are free now.
  return true;
}

void PostgresWatch::read_notifications(News& news) {
  auto connection = session_.connect();
  if (!connection || !(*connection)->input()) return;
  while (const auto next = (*connection)->next_notification()) {
    if (next->own || next->payload.empty()) continue;
    switch (next->payload[0]) {
      case 'd': read_ids(next->payload, news.due); break;
      case 's': read_ids(next->payload, news.states); break;
      case 'c': news.configuration = true; break;
      default: news.all_due = true;
    }
  }
}

void PostgresWatch::send(const News& news) {
  std::vector<std::string> payloads;
  // Changes also if no other is known: one may have started since, and has found what is due.
  if (news.configuration) payloads.emplace_back("c");
  const bool with_due = !alone_;
  if (with_due && news.all_due) {
    payloads.emplace_back("a");
  } else if (with_due && !news.due.empty()) {
    payloads.push_back(payload_of('d', news.due));
  }
  if (!news.states.empty() && news.states.size() <= kMostNamed) {
    payloads.push_back(payload_of('s', news.states));  // More are found by the next look.
  }
  for (const std::string& payload : payloads) {
    (void)session_.query({kNotify, PgParameters().add_text(session_.schema()).add_text(payload)});
  }
}

// What of the configuration is newer than what was reported; false: it could not be read. The
// version is read first: changes are committed in order, so all up to it are found. It counts this
// dispatcher's own changes, too: they are not read again and again.
bool PostgresWatch::read_changes(StoreChange& change) {
  std::int64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    version = version_;
  }
  const auto read = session_.query_all(
      std::array{PgCall{kVersion}, PgCall{kChanges, PgParameters().add(version).add(dispatcher_)}});
  if (!read) return false;
  const std::int64_t known = std::exchange(version, std::max(version, (*read)[0].number(0, 0)));
  const store::PgResult* const rows = &(*read)[1];
  if (rows->rows() == 0) {
    if (version > known) {
      change.configuration = version;
      const std::lock_guard lock(mutex_);
      version_ = version;
    }
    return true;
  }
  std::set<std::string_view> names;
  std::set<std::int64_t> ids;
  for (int row = 0; row < rows->rows(); ++row) {
    version = std::max(version, rows->number(row, 0));
    if (!rows->text(row, 1).empty()) names.insert(rows->text(row, 1));
    if (rows->number(row, 2) != 0) ids.insert(rows->number(row, 2));
  }
  const auto found = session_.query_all(std::array{
      PgCall{kApplications, PgParameters().add_texts(std::vector(names.begin(), names.end()))},
      PgCall{kEndpoints, PgParameters().add_array(std::vector(ids.begin(), ids.end()))},
      PgCall{kSettingsSince, PgParameters().add(known)}});
  if (!found) return false;
  change.settings = read_settings((*found)[2]);
  for (int row = 0; row < (*found)[0].rows(); ++row) {
    change.applications.emplace_back((*found)[0].text(row, 0));
    names.erase((*found)[0].text(row, 0));
  }
  for (const std::string_view name : names) change.removed_applications.emplace_back(name);
  for (int row = 0; row < (*found)[1].rows(); ++row) {
    ids.erase((*found)[1].number(row, 0));
    auto endpoint = read_endpoint((*found)[1], row, unseal_);
    if (endpoint) change.endpoints.push_back(*std::move(endpoint));
  }
  for (const std::int64_t id : ids) change.removed_endpoints.push_back(Id{id});
  change.configuration = version;
  const std::lock_guard lock(mutex_);
  version_ = version;
  return true;
}

bool PostgresWatch::read_states(StoreChange& change, const std::set<Id>& endpoints, bool all) {
  std::vector<std::int64_t> ids;
  ids.reserve(endpoints.size());
  for (const Id id : endpoints) ids.push_back(number(id));
  const PgCall call = all ? PgCall{kStatesSince, PgParameters().add(states_since_).add(dispatcher_)}
                          : PgCall{kStates, PgParameters().add_array(ids)};
  const std::int64_t now = clock_.to_database(run::wall_time());
  const auto rows = session_.query(call);
  if (!rows) return false;
  for (int row = 0; row < rows->rows(); ++row) {
    change.states.push_back(read_state(*rows, row, clock_));
  }
  if (all) states_since_ = now - kOverlapMs;
  return true;
}

void PostgresWatch::loop() {
  Instant next_renewal = run::now() + times_.renewal;
  Instant next_poll = run::now() + times_.poll;
  Instant next_send = run::now();  // Not Instant::min(): the wait until then is a difference.
  std::uint64_t session = 0;
  bool first = true;
  states_since_ = clock_.to_database(run::wall_time()) - kOverlapMs;
  for (;;) {
    News news = std::exchange(arrived_, {});
    News to_send;
    std::vector<Refreshed> refreshes;
    bool watching = false;
    const Instant now = run::now();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
      watching = watching_;
      refreshes = std::exchange(refreshes_, {});
      if (now >= next_send) to_send = std::exchange(to_send_, {});
    }
    bool look = first || now >= next_renewal;
    first = false;
    if (look) {
      const bool renewed = renew();
      next_renewal = run::now() + (renewed ? times_.renewal : kPause);
      if (session != session_.number()) news.all_due = session != 0;  // Some may be missed.
      session = session_.number();
    }
    if (!to_send.is_empty()) {
      send(to_send);
      next_send = run::now() + times_.debounce;
    }
    bool fresh = !watching;
    if (watching) {
      StoreChange change;
      const bool configured = news.configuration || to_send.configuration;
      if (look || configured || !refreshes.empty()) fresh = read_changes(change);
      if (!fresh && !refreshes.empty()) fresh = read_changes(change);  // by a new connection
      if (look || !news.states.empty()) (void)read_states(change, news.states, look);
      const UnixTime wall = run::wall_time();
      for (const Id endpoint : news.due) change.due.push_back({endpoint, wall});
      const bool empty = change.due.empty() && change.applications.empty() &&
                         change.removed_applications.empty() && change.endpoints.empty() &&
                         change.removed_endpoints.empty() && change.states.empty() &&
                         change.settings.empty() && change.configuration == 0;
      if (!empty) report(std::move(change));
    }
    finish_refreshes(refreshes, fresh);
    if (news.all_due || now >= next_poll) {
      poll_();
      next_poll = run::now() + times_.poll;
    }
    Instant until = std::min(next_renewal, next_poll);
    {
      const std::lock_guard lock(mutex_);
      if (!to_send_.is_empty()) until = std::min(until, next_send);
    }
    wait(until - run::now());
  }
  std::vector<Refreshed> refreshes;
  {
    const std::lock_guard lock(mutex_);
    refreshes = std::exchange(refreshes_, {});
  }
  finish_refreshes(refreshes, false);
  alone_ = false;
  (void)session_.query({kLeave, PgParameters().add(dispatcher_)});
  send({.due = {}, .states = {}, .all_due = true, .configuration = false});
}

}  // namespace damper::webhooks
