#include "damper/webhooks/store/postgres/postgres_lists.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "damper/webhooks/store/postgres/postgres_rows.h"

namespace damper::webhooks {
namespace {

using store::PgCall;
using store::PgParameters;
using store::PgResult;
using store::PgStatement;

// $1 application, $2 before, $3 limit; $4 the type or the endpoint, $5 the endpoint.
#define DAMPER_MESSAGES                                                                     \
  "SELECT id, application, type, channel, ordering_key, idempotency_key, created, payload," \
  " traceparent"                                                                            \
  " FROM message m WHERE application = $1 AND id < $2"
#define DAMPER_OF_ENDPOINT(NUMBER)                                                         \
  " AND (EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.endpoint = " NUMBER \
  ")"                                                                                      \
  " OR EXISTS (SELECT 1 FROM dead x WHERE x.endpoint = " NUMBER                            \
  " AND x.message = m.id)"                                                                 \
  " OR EXISTS (SELECT 1 FROM attempt a WHERE a.message = m.id AND a.endpoint = " NUMBER "))"
#define DAMPER_PAGE(COLUMN) " ORDER BY " COLUMN " DESC LIMIT $3"

constexpr PgStatement kMessages{"messages", DAMPER_MESSAGES DAMPER_PAGE("id")};
constexpr PgStatement kMessagesByType{"messages_by_type",
                                      DAMPER_MESSAGES " AND type = $4" DAMPER_PAGE("id")};
constexpr PgStatement kMessagesByEndpoint{
    "messages_by_endpoint", DAMPER_MESSAGES DAMPER_OF_ENDPOINT("$4") DAMPER_PAGE("id")};
constexpr PgStatement kMessagesByBoth{"messages_by_both", DAMPER_MESSAGES
                                      " AND type = $4" DAMPER_OF_ENDPOINT("$5") DAMPER_PAGE("id")};

#define DAMPER_ATTEMPTS                                                                       \
  "SELECT number, message, endpoint, attempt, time, duration, status, outcome, error, answer" \
  " FROM attempt WHERE number < $2"
constexpr PgStatement kAttemptsOfMessage{"attempts_of_message",
                                         DAMPER_ATTEMPTS " AND message = $1" DAMPER_PAGE("number")};
constexpr PgStatement kAttemptsOfEndpoint{
    "attempts_of_endpoint", DAMPER_ATTEMPTS " AND endpoint = $1" DAMPER_PAGE("number")};
constexpr PgStatement kAttemptsOfBoth{"attempts_of_both", DAMPER_ATTEMPTS
                                      " AND message = $1 AND endpoint = $4" DAMPER_PAGE("number")};

constexpr PgStatement kDead{"dead",
                            "SELECT endpoint, message, time, attempts, reason FROM dead"
                            " WHERE endpoint = $1 AND message < $2" DAMPER_PAGE("message")};
#undef DAMPER_MESSAGES
#undef DAMPER_OF_ENDPOINT
#undef DAMPER_ATTEMPTS
#undef DAMPER_PAGE

constexpr PgStatement kFindMessage{
    "find_message",
    "SELECT id, application, type, channel, ordering_key, idempotency_key, created, payload,"
    " traceparent"
    " FROM message WHERE id = $1 AND application = $2"};
constexpr PgStatement kFindWaiting{
    "find_waiting",
    "SELECT d.endpoint, d.due, d.attempts FROM delivery d JOIN endpoint e ON e.id = d.endpoint"
    " WHERE d.message = $1 ORDER BY d.endpoint"};
constexpr PgStatement kFindLetters{
    "find_letters",
    "SELECT d.endpoint, d.message, d.time, d.attempts, d.reason FROM dead d"
    " JOIN endpoint e ON e.id = d.endpoint WHERE d.message = $1 ORDER BY d.endpoint"};
constexpr PgStatement kCount{"count",
                             "SELECT (SELECT count(*) FROM message),"
                             " (SELECT count(*) FROM delivery), (SELECT count(*) FROM dead),"
                             " (SELECT coalesce(max(number) - min(number) + 1, 0) FROM attempt)"};

PgParameters& add_page(PgParameters& parameters, const Page& page) {
  return parameters.add(page.before.value_or(std::numeric_limits<std::int64_t>::max()))
      .add(static_cast<std::int64_t>(std::clamp<std::size_t>(page.limit, 1, Page::kMost)));
}

UnixTime shown_time(const PgResult& rows, int row, int column) {
  return UnixTime{std::chrono::milliseconds(rows.number(row, column))};
}

DeadLetter read_letter(const PgResult& rows, int row) {
  return {.endpoint = Id{rows.number(row, 0)},
          .message = Id{rows.number(row, 1)},
          .time = shown_time(rows, row, 2),
          .attempts = static_cast<std::uint32_t>(rows.number(row, 3)),
          .reason = std::string(rows.text(row, 4))};
}

}  // namespace

PostgresLists::Result<std::vector<Message>> PostgresLists::list_messages(
    const MessageFilter& filter, const Page& page) {
  PgParameters parameters = PgParameters().add_text(filter.application);
  add_page(parameters, page);
  if (!filter.type.empty()) parameters.add_text(filter.type);
  if (filter.endpoint) parameters.add(number(*filter.endpoint));
  const PgStatement& statement = filter.endpoint
                                     ? (filter.type.empty() ? kMessagesByEndpoint : kMessagesByBoth)
                                     : (filter.type.empty() ? kMessages : kMessagesByType);
  const auto rows = session_.query({statement, std::move(parameters)});
  if (!rows) return unexpected(rows.error());
  std::vector<Message> messages;
  messages.reserve(static_cast<std::size_t>(rows->rows()));
  for (int row = 0; row < rows->rows(); ++row) messages.push_back(read_message(*rows, row, 0));
  return Expected<std::vector<Message>, StoreError>(std::move(messages));
}

PostgresLists::Result<MessageStatus> PostgresLists::find_message(const std::string& application,
                                                                 Id id) {
  using Outcome = Expected<MessageStatus, StoreError>;
  const PgParameters by_id = PgParameters().add(number(id));
  const auto found = session_.query_all(
      std::array{PgCall{kFindMessage, PgParameters().add(number(id)).add_text(application)},
                 PgCall{kFindWaiting, by_id}, PgCall{kFindLetters, by_id}});
  if (!found) return unexpected(found.error());
  if ((*found)[0].rows() == 0) {
    return Outcome(unexpected(StoreError{StoreError::Kind::not_found,
                                         "there is no message " + id_text(kMessagePrefix, id)}));
  }
  MessageStatus status{.message = read_message((*found)[0], 0, 0), .waiting = {}, .dead = {}};
  for (int row = 0; row < (*found)[1].rows(); ++row) {
    const PgResult& rows = (*found)[1];
    status.waiting.push_back({.endpoint = Id{rows.number(row, 0)},
                              .due = clock_.to_host(rows.number(row, 1)),
                              .attempts = static_cast<std::uint32_t>(rows.number(row, 2))});
  }
  for (int row = 0; row < (*found)[2].rows(); ++row) {
    status.dead.push_back(read_letter((*found)[2], row));
  }
  return Outcome(std::move(status));
}

PostgresLists::Result<std::vector<Attempt>> PostgresLists::list_attempts(
    const AttemptFilter& filter, const Page& page) {
  const Id id = filter.message ? *filter.message : filter.endpoint.value_or(Id{});
  PgParameters parameters = PgParameters().add(number(id));
  add_page(parameters, page);
  const bool both = filter.message && filter.endpoint;
  if (both) parameters.add(number(*filter.endpoint));
  const auto rows = session_.query(
      {both ? kAttemptsOfBoth : (filter.message ? kAttemptsOfMessage : kAttemptsOfEndpoint),
       std::move(parameters)});
  if (!rows) return unexpected(rows.error());
  std::vector<Attempt> attempts;
  attempts.reserve(static_cast<std::size_t>(rows->rows()));
  for (int row = 0; row < rows->rows(); ++row) {
    attempts.push_back({.number = rows->number(row, 0),
                        .message = Id{rows->number(row, 1)},
                        .endpoint = Id{rows->number(row, 2)},
                        .attempt = static_cast<std::uint32_t>(rows->number(row, 3)),
                        .time = shown_time(*rows, row, 4),
                        .duration = Duration(rows->number(row, 5)),
                        .status = static_cast<int>(rows->number(row, 6)),
                        .outcome = std::string(rows->text(row, 7)),
                        .error = std::string(rows->text(row, 8)),
                        .answer = std::string(rows->text(row, 9))});
  }
  return Expected<std::vector<Attempt>, StoreError>(std::move(attempts));
}

PostgresLists::Result<std::vector<DeadLetter>> PostgresLists::list_dead(Id endpoint,
                                                                        const Page& page) {
  PgParameters parameters = PgParameters().add(number(endpoint));
  add_page(parameters, page);
  const auto rows = session_.query({kDead, std::move(parameters)});
  if (!rows) return unexpected(rows.error());
  std::vector<DeadLetter> letters;
  letters.reserve(static_cast<std::size_t>(rows->rows()));
  for (int row = 0; row < rows->rows(); ++row) letters.push_back(read_letter(*rows, row));
  return Expected<std::vector<DeadLetter>, StoreError>(std::move(letters));
}

PostgresLists::Result<StoreCounts> PostgresLists::count() {
  const auto counted = session_.query({kCount});
  if (!counted) return unexpected(counted.error());
  return Expected<StoreCounts, StoreError>(StoreCounts{.messages = counted->number(0, 0),
                                                       .waiting = counted->number(0, 1),
                                                       .dead = counted->number(0, 2),
                                                       .attempts = counted->number(0, 3)});
}

}  // namespace damper::webhooks
