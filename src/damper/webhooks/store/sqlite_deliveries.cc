#include "damper/webhooks/store/sqlite_deliveries.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/webhooks/store/sqlite_schema.h"

namespace damper::webhooks {
namespace {

using DeliveryRun = store::Statement::Run;

// The dead letters of a RedriveFilter, in order of their messages.
#define DAMPER_DEAD_FILTER                                       \
  " FROM dead WHERE endpoint = ?1 AND message BETWEEN ?2 AND ?3" \
  " AND time BETWEEN ?4 AND ?5 AND (?6 = '' OR reason = ?6)"     \
  " AND (?7 = '' OR EXISTS (SELECT 1 FROM message WHERE id = dead.message AND type = ?7))"
constexpr const char* kFindDead = "SELECT message" DAMPER_DEAD_FILTER " ORDER BY message LIMIT ?8";
constexpr const char* kCountDead = "SELECT count(*)" DAMPER_DEAD_FILTER;
#undef DAMPER_DEAD_FILTER

constexpr double kLeastRate = 0.001;  // a second

void bind_filter(DeliveryRun& run, const RedriveFilter& filter) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  run.bind(number(filter.endpoint))
      .bind(filter.message ? number(*filter.message) : kLeast)
      .bind(filter.message ? number(*filter.message) : kGreatest)
      .bind(filter.from ? ms(*filter.from) : kLeast)
      .bind(filter.until ? ms(*filter.until) : kGreatest)
      .bind_text(filter.reason)
      .bind_text(filter.type);
}

}  // namespace

SqliteDeliveries::SqliteDeliveries(store::Database& file)
    : file_(file),
      insert_(file,
              "INSERT OR IGNORE INTO delivery (endpoint, behind, due, message, attempts,"
              " previous_delay, ordering_key, since) SELECT ?1, ?2, ?3, ?4, 0, 0, ?5, ?7"
              " FROM endpoint WHERE id = ?1 AND application = ?6"),
      move_(file,
            "UPDATE delivery SET due = ?4, attempts = ?5, previous_delay = ?6"
            " WHERE endpoint = ?1 AND behind IN (0, 1) AND due = ?2 AND message = ?3"
            " AND EXISTS (SELECT 1 FROM endpoint WHERE id = ?1)"),
      remove_(file,
              "DELETE FROM delivery"
              " WHERE endpoint = ?1 AND behind IN (0, 1) AND due = ?2 AND message = ?3"
              " AND EXISTS (SELECT 1 FROM endpoint WHERE id = ?1)"),
      find_oldest_(file,
                   "SELECT message FROM delivery WHERE endpoint = ?1 AND ordering_key = ?2"
                   " AND ordering_key <> '' ORDER BY message LIMIT 1"),
      set_behind_(file, "UPDATE delivery SET behind = ?3 WHERE message = ?2 AND endpoint = ?1"),
      log_(file,
           "INSERT INTO attempt (message, endpoint, attempt, time, duration, status, outcome,"
           " error, answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
      bury_(file,
            "INSERT OR REPLACE INTO dead (endpoint, message, time, attempts, reason)"
            " VALUES (?1, ?2, ?3, ?4, ?5)"),
      find_dead_(file, kFindDead),
      count_dead_(file, kCountDead),
      unbury_(file, "DELETE FROM dead WHERE endpoint = ?1 AND message = ?2"),
      find_body_(file, "SELECT application, ordering_key FROM message WHERE id = ?1") {}

std::optional<Id> SqliteDeliveries::find_oldest(Id endpoint, std::string_view ordering_key) {
  DeliveryRun run(find_oldest_);
  if (!run.bind(number(endpoint)).bind_text(ordering_key).step()) return std::nullopt;
  return Id{run.number(0)};
}

void SqliteDeliveries::set_behind(Id endpoint, Id message, bool behind) {
  DeliveryRun run(set_behind_);
  (void)run.bind(number(endpoint)).bind(number(message)).bind(behind ? 1 : 0).step();
}

void SqliteDeliveries::insert(const DeliveryKey& key, std::string_view application,
                              std::string_view ordering_key) {
  std::optional<Id> oldest;
  if (!ordering_key.empty()) oldest = find_oldest(key.endpoint, ordering_key);
  if (oldest == key.message) return;
  const bool behind = oldest && *oldest < key.message;
  {
    DeliveryRun run(insert_);
    (void)run.bind(number(key.endpoint))
        .bind(behind ? 1 : 0)
        .bind(ms(key.due))
        .bind(number(key.message))
        .bind_text(ordering_key)
        .bind_text(application)
        .bind(ms(key.since))
        .step();
  }
  // An older message than all that wait: ids of two processes, or a redrive.
  if (oldest && !behind) set_behind(key.endpoint, *oldest, true);
}

bool SqliteDeliveries::try_move(const Settlement& settlement) {
  DeliveryRun run(move_);
  (void)run.bind(number(settlement.delivery.endpoint))
      .bind(ms(settlement.delivery.due))
      .bind(number(settlement.delivery.message->id))
      .bind(ms(settlement.due))
      .bind(static_cast<std::int64_t>(settlement.attempts))
      .bind(settlement.previous_delay.count())
      .step();
  return file_.changes() == 1;
}

bool SqliteDeliveries::try_remove(const Settlement& settlement) {
  const Delivery& delivery = settlement.delivery;
  {
    DeliveryRun run(remove_);
    (void)run.bind(number(delivery.endpoint))
        .bind(ms(delivery.due))
        .bind(number(delivery.message->id))
        .step();
  }
  if (file_.changes() != 1) return false;
  const std::string& key = delivery.message->ordering_key;
  if (key.empty()) return true;
  if (const auto next = find_oldest(delivery.endpoint, key)) {
    set_behind(delivery.endpoint, *next, false);
  }
  return true;
}

bool SqliteDeliveries::settle(const Settlement& settlement) {
  DAMPER_CHECK(settlement.delivery.message != nullptr);
  const bool found = settlement.fate == Fate::again ? try_move(settlement) : try_remove(settlement);
  if (!found) return false;
  if (settlement.fate == Fate::dead) bury(settlement);
  if (settlement.log_attempt) log(settlement.attempt);
  return true;
}

void SqliteDeliveries::log(const Attempt& attempt) {
  DeliveryRun run(log_);
  (void)run.bind(number(attempt.message))
      .bind(number(attempt.endpoint))
      .bind(static_cast<std::int64_t>(attempt.attempt))
      .bind(ms(attempt.time))
      .bind(attempt.duration.count())
      .bind(static_cast<std::int64_t>(attempt.status))
      .bind_text(attempt.outcome)
      .bind_text(attempt.error)
      .bind(std::string_view(attempt.answer))
      .step();
}

void SqliteDeliveries::bury(const Settlement& settlement) {
  const Delivery& delivery = settlement.delivery;
  const std::uint32_t attempts =
      settlement.log_attempt ? settlement.attempt.attempt : delivery.attempts;
  DeliveryRun run(bury_);
  (void)run.bind(number(delivery.endpoint))
      .bind(number(delivery.message->id))
      .bind(ms(settlement.attempt.time))
      .bind(static_cast<std::int64_t>(attempts))
      .bind_text(settlement.reason)
      .step();
}

void SqliteDeliveries::unbury(Id endpoint, Id message) {
  DeliveryRun run(unbury_);
  (void)run.bind(number(endpoint)).bind(number(message)).step();
}

void SqliteDeliveries::revive(Id endpoint, Id message, UnixTime due) {
  unbury(endpoint, message);
  std::string application;
  std::string ordering_key;
  {
    DeliveryRun run(find_body_);
    if (!run.bind(number(message)).step()) return;
    application = run.bytes(0);
    ordering_key = run.bytes(1);
  }
  insert({endpoint, due, message, due}, application, ordering_key);
}

Redriven SqliteDeliveries::redrive(const RedriveFilter& filter, UnixTime now) {
  Redriven result;
  {
    DeliveryRun run(count_dead_);
    bind_filter(run, filter);
    if (run.step()) result.remaining = run.number(0);
  }
  if (filter.dry_run) return {.count = result.remaining, .remaining = 0};
  std::vector<Id> messages;
  {
    DeliveryRun run(find_dead_);
    bind_filter(run, filter);
    run.bind(static_cast<std::int64_t>(filter.most));
    while (run.step()) messages.emplace_back(Id{run.number(0)});
  }
  for (const Id message : messages) {
    const double rate = std::max(filter.rate_per_second, kLeastRate);
    const double ms_from_now = static_cast<double>(result.count) * 1000 / rate;
    if (filter.discard) {
      unbury(filter.endpoint, message);
    } else {
      revive(filter.endpoint, message,
             now + std::chrono::milliseconds(static_cast<std::int64_t>(ms_from_now)));
    }
    ++result.count;
    --result.remaining;
  }
  return result;
}

}  // namespace damper::webhooks
