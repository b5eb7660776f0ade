#include "damper/webhooks/outbox/outbox_relay.h"

#include <utility>

#include "damper/base/check.h"
#include "damper/store/postgres/postgres_url.h"
#include "damper/webhooks/outbox/postgres_outbox.h"

namespace damper::webhooks {
namespace {

constexpr std::chrono::milliseconds kLockTimeout(5000);
// Of a relay's session: rows of a host that has vanished in the middle of a batch are free then.
constexpr const char* kRelaySettings =
    "SET client_encoding = 'UTF8'; SET idle_in_transaction_session_timeout = '5min'";
constexpr const char* kFindOutbox = "SELECT FROM damper_outbox LIMIT 0";

[[nodiscard]] store::PgExpected<std::unique_ptr<store::PgConnection>> connect_relay(
    const store::PostgresUrl& url) {
  auto opened = store::PgConnection::open(url);
  if (!opened) return opened;
  if (auto set = (*opened)->execute(kRelaySettings); !set) return unexpected(set.error());
  return opened;
}

}  // namespace

OutboxCounts& OutboxCounts::operator+=(const OutboxCounts& more) noexcept {
  moved += more.moved;
  repeated += more.repeated;
  refused += more.refused;
  unavailable += more.unavailable;
  return *this;
}

OutboxCounts relay_outbox(store::Database& database, const OutboxSink& sink, std::size_t most) {
  OutboxCounts counts;
  const std::vector<OutboxRow> rows = read_outbox(database, most);
  if (rows.empty()) return counts;
  std::vector<OutboxMessage> messages;
  messages.reserve(rows.size());
  for (const OutboxRow& row : rows) messages.push_back(row.message);
  const std::vector<OutboxAnswer> answers = sink(messages);
  DAMPER_CHECK(answers.size() == rows.size());
  store::Transaction transaction(database);
  const store::Statement remove(database, "DELETE FROM damper_outbox WHERE number = ?1");
  const store::Statement keep(database, "UPDATE damper_outbox SET error = ?2 WHERE number = ?1");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const OutboxAnswer& answer = answers[i];
    switch (answer.kind) {
      case OutboxAnswer::Kind::accepted:
        store::Statement::Run(remove).bind(rows[i].number).step();
        ++counts.moved;
        if (answer.repeated) ++counts.repeated;
        break;
      case OutboxAnswer::Kind::refused:
        store::Statement::Run(keep).bind(rows[i].number).bind_text(answer.sentence).step();
        ++counts.refused;
        break;
      case OutboxAnswer::Kind::unavailable: ++counts.unavailable; break;
    }
  }
  transaction.commit();
  return counts;
}

Expected<std::unique_ptr<OutboxRelay>> OutboxRelay::start(OutboxRelayOptions options,
                                                          OutboxSink sink) {
  if (auto error = BoundsCheck()
                       .field("poll", options.poll, options.kPoll)
                       .field("batch", options.batch, options.kBatch)
                       .error()) {
    return unexpected(*std::move(error));
  }
  auto move = store::is_postgres_url(options.path) ? open_postgres(options, std::move(sink))
                                                   : open_sqlite(options, std::move(sink));
  if (!move) return unexpected(move.error());
  return std::unique_ptr<OutboxRelay>(new OutboxRelay(std::move(options), *std::move(move)));
}

Expected<OutboxRelay::Move> OutboxRelay::open_sqlite(const OutboxRelayOptions& options,
                                                     OutboxSink sink) {
  try {
    auto database = std::make_shared<store::Database>(options.path, kLockTimeout);
    (void)read_outbox(*database, 1);
    return Move(
        [database, sink = std::move(sink), most = options.batch]() -> std::optional<OutboxCounts> {
          try {
            return relay_outbox(*database, sink, most);
          } catch (const store::DatabaseError&) {
            return std::nullopt;
          }
        });
  } catch (const store::DatabaseError& error) {
    return unexpected("the outbox in " + options.path + " cannot be read: " + error.text);
  }
}

// A connection that is lost is opened again for the next batch.
Expected<OutboxRelay::Move> OutboxRelay::open_postgres(const OutboxRelayOptions& options,
                                                       OutboxSink sink) {
  const auto url = store::PostgresUrl::parse(options.path);
  if (!url) return unexpected(url.error());
  auto opened = connect_relay(*url);
  auto found = opened ? (*opened)->execute(kFindOutbox) : unexpected(opened.error());
  if (!found) {
    return unexpected("the outbox in " + url->text() +
                      " cannot be read: " + found.error().sentence);
  }
  auto database = std::make_shared<std::unique_ptr<store::PgConnection>>(*std::move(opened));
  return Move([database, url = *url, sink = std::move(sink),
               most = options.batch]() -> std::optional<OutboxCounts> {
    if (*database == nullptr || (*database)->is_lost()) {
      auto again = connect_relay(url);
      if (!again) return std::nullopt;
      *database = *std::move(again);
    }
    auto moved = relay_outbox(**database, sink, most);
    if (!moved) return std::nullopt;
    return *moved;
  });
}

OutboxRelay::OutboxRelay(OutboxRelayOptions options, Move move)
    : options_(std::move(options)), move_(std::move(move)), thread_([this] { run(); }) {}

OutboxRelay::~OutboxRelay() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

void OutboxRelay::notify() {
  {
    const std::scoped_lock lock(mutex_);
    notified_ = true;
  }
  woken_.notify_all();
}

OutboxCounts OutboxRelay::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void OutboxRelay::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    notified_ = false;
    lock.unlock();
    // After an error of the database, its rows are sent again.
    const OutboxCounts batch = move_().value_or(OutboxCounts{.unavailable = 1});
    lock.lock();
    counts_ += batch;
    // Without progress it waits, so that a dispatcher that is down is not asked without a pause.
    if (batch.moved + batch.refused > 0) continue;
    woken_.wait_for(lock, options_.poll, [this] { return stopped_ || notified_; });
  }
}

}  // namespace damper::webhooks
