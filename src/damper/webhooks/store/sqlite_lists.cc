#include "damper/webhooks/store/sqlite_lists.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "damper/webhooks/store/sqlite_rows.h"
#include "damper/webhooks/store/sqlite_schema.h"

namespace damper::webhooks {
namespace {

using ListRun = store::Statement::Run;

constexpr const char* kOfEndpoint =
    " AND (EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.endpoint = ?5)"
    " OR EXISTS (SELECT 1 FROM dead x WHERE x.endpoint = ?5 AND x.message = m.id)"
    " OR EXISTS (SELECT 1 FROM attempt a WHERE a.message = m.id AND a.endpoint = ?5))";

constexpr const char* kAttemptColumns =
    "number, message, endpoint, attempt, time, duration, status, outcome, error, answer";

std::int64_t before(const Page& page) {
  return page.before.value_or(std::numeric_limits<std::int64_t>::max());
}
std::int64_t limit(const Page& page) {
  return static_cast<std::int64_t>(std::clamp<std::size_t>(page.limit, 1, Page::kMost));
}

Attempt read_attempt(const ListRun& row) {
  return {.number = row.number(0),
          .message = Id{row.number(1)},
          .endpoint = Id{row.number(2)},
          .attempt = static_cast<std::uint32_t>(row.number(3)),
          .time = unix_time(row.number(4)),
          .duration = Duration(row.number(5)),
          .status = static_cast<int>(row.number(6)),
          .outcome = std::string(row.bytes(7)),
          .error = std::string(row.bytes(8)),
          .answer = std::string(row.bytes(9))};
}

// Of the columns endpoint, message, time, attempts, reason.
DeadLetter read_dead(const ListRun& row) {
  return {.endpoint = Id{row.number(0)},
          .message = Id{row.number(1)},
          .time = unix_time(row.number(2)),
          .attempts = static_cast<std::uint32_t>(row.number(3)),
          .reason = std::string(row.bytes(4))};
}

}  // namespace

SqliteLists::SqliteLists(store::Database& file) : file_(file) {}

std::vector<Message> SqliteLists::list_messages(const MessageFilter& filter, const Page& page) {
  std::string sql = std::string("SELECT ") + kMessageColumns +
                    " FROM message m WHERE application = ?1 AND id < ?2";
  if (!filter.type.empty()) sql += " AND type = ?4";
  if (filter.endpoint) sql += kOfEndpoint;
  // Numbered parameters that are not used exist up to the greatest one.
  sql += " AND (?4 IS NOT NULL AND ?5 IS NOT NULL) ORDER BY id DESC LIMIT ?3";
  const store::Statement statement(file_, sql);
  ListRun run(statement);
  run.bind_text(filter.application)
      .bind(before(page))
      .bind(limit(page))
      .bind_text(filter.type)
      .bind(filter.endpoint ? number(*filter.endpoint) : 0);
  std::vector<Message> messages;
  messages.reserve(static_cast<std::size_t>(limit(page)));
  while (run.step()) messages.push_back(read_message(run));
  return messages;
}

Expected<MessageStatus, StoreError> SqliteLists::find_message(const std::string& application,
                                                              Id id) {
  const store::ReadTransaction transaction(file_);
  MessageStatus status;
  {
    const store::Statement find(file_, std::string("SELECT ") + kMessageColumns +
                                           " FROM message WHERE id = ?1 AND application = ?2");
    ListRun run(find);
    if (!run.bind(number(id)).bind_text(application).step()) {
      return unexpected(StoreError{StoreError::Kind::not_found,
                                   "there is no message " + id_text(kMessagePrefix, id)});
    }
    status.message = read_message(run);
  }
  const store::Statement waiting(
      file_,
      "SELECT endpoint, due, attempts FROM delivery WHERE message = ?1"
      " AND EXISTS (SELECT 1 FROM endpoint WHERE id = endpoint) ORDER BY endpoint");
  ListRun waits(waiting);
  waits.bind(number(id));
  while (waits.step()) {
    status.waiting.push_back({.endpoint = Id{waits.number(0)},
                              .due = unix_time(waits.number(1)),
                              .attempts = static_cast<std::uint32_t>(waits.number(2))});
  }
  const store::Statement dead(file_,
                              "SELECT endpoint, message, time, attempts, reason FROM dead"
                              " WHERE message = ?1"
                              " AND EXISTS (SELECT 1 FROM endpoint WHERE id = endpoint)"
                              " ORDER BY endpoint");
  ListRun run(dead);
  run.bind(number(id));
  while (run.step()) status.dead.push_back(read_dead(run));
  return status;
}

std::vector<Attempt> SqliteLists::list_attempts(const AttemptFilter& filter, const Page& page) {
  std::string sql = std::string("SELECT ") + kAttemptColumns + " FROM attempt WHERE number < ?1";
  if (filter.message) sql += " AND message = ?3";
  if (filter.endpoint) sql += " AND endpoint = ?4";
  sql += " AND (?3 IS NOT NULL AND ?4 IS NOT NULL) ORDER BY number DESC LIMIT ?2";
  const store::Statement statement(file_, sql);
  ListRun run(statement);
  run.bind(before(page))
      .bind(limit(page))
      .bind(filter.message ? number(*filter.message) : 0)
      .bind(filter.endpoint ? number(*filter.endpoint) : 0);
  std::vector<Attempt> attempts;
  attempts.reserve(static_cast<std::size_t>(limit(page)));
  while (run.step()) attempts.push_back(read_attempt(run));
  return attempts;
}

std::vector<DeadLetter> SqliteLists::list_dead(Id endpoint, const Page& page) {
  const store::Statement statement(file_,
                                   "SELECT endpoint, message, time, attempts, reason FROM dead"
                                   " WHERE endpoint = ?1 AND message < ?2"
                                   " ORDER BY message DESC LIMIT ?3");
  ListRun run(statement);
  run.bind(number(endpoint)).bind(before(page)).bind(limit(page));
  std::vector<DeadLetter> letters;
  letters.reserve(static_cast<std::size_t>(limit(page)));
  while (run.step()) letters.push_back(read_dead(run));
  return letters;
}

StoreCounts SqliteLists::count() {
  return {.messages = file_.query_number("SELECT count(*) FROM message"),
          .waiting = file_.query_number("SELECT count(*) FROM delivery"),
          .dead = file_.query_number("SELECT count(*) FROM dead"),
          .attempts = file_.query_number("SELECT coalesce((SELECT max(number) FROM attempt)"
                                         " - (SELECT min(number) FROM attempt) + 1, 0)")};
}

}  // namespace damper::webhooks
