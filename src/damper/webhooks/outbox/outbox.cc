#include "damper/webhooks/outbox/outbox.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/words.h"
#include "damper/http/headers/idempotency_key.h"
#include "damper/webhooks/model/endpoint.h"

namespace damper::webhooks {
namespace {

// `error`: why a dispatcher refuses it for good.
constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS damper_outbox("
    "number INTEGER PRIMARY KEY AUTOINCREMENT, application TEXT NOT NULL, type TEXT NOT NULL, "
    "channel TEXT NOT NULL, ordering_key TEXT NOT NULL, key TEXT NOT NULL UNIQUE, "
    "payload BLOB NOT NULL, error TEXT)";
constexpr const char* kInsert =
    "INSERT INTO damper_outbox(application, type, channel, ordering_key, key, payload) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
constexpr std::size_t kMostDepth = 64;

[[nodiscard]] std::string error_of(sqlite3* database) {
  return std::string("the outbox cannot be written: ") + sqlite3_errmsg(database);
}

[[nodiscard]] bool is_json(const std::string& payload) {
  const std::string alone = "{\"payload\":" + payload + "}";
  const auto read = text::read_json(
      alone, {.bytes = alone.size(), .depth = kMostDepth, .values = 1000, .raw_field = "payload"});
  return read && read->fields.size() == 1;
}

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

}  // namespace

std::optional<std::string> find_error(const OutboxMessage& message) {
  if (!is_application_name(message.application)) {
    return "application is " + text::in_quotes(message.application) + ", which is no name of one";
  }
  if (!is_event_type(message.type)) {
    return "type is " + text::in_quotes(message.type) + "; it must be a name such as invoice.paid";
  }
  if (!message.channel.empty() && !is_event_type(message.channel)) {
    return "channel is " + text::in_quotes(message.channel) + "; it must be a name such as eu-west";
  }
  if (message.ordering_key.size() > kMostTypeBytes) {
    return "ordering_key must have at most " + std::to_string(kMostTypeBytes) + " bytes";
  }
  const bool visible = std::ranges::all_of(message.key, [](char c) { return c > ' ' && c <= '~'; });
  if (!visible || message.key.size() > kMostKeyBytes) {
    return "key must have 1 to " + std::to_string(kMostKeyBytes) + " visible ASCII characters";
  }
  if (!is_json(message.payload)) return "payload is not JSON";
  return std::nullopt;
}

std::optional<std::string> create_outbox(sqlite3* database) {
  if (sqlite3_exec(database, kCreate, nullptr, nullptr, nullptr) == SQLITE_OK) return std::nullopt;
  return error_of(database);
}

Expected<std::string> enqueue(sqlite3* database, const OutboxMessage& message) {
  if (auto error = find_error(message)) return unexpected(*std::move(error));
  std::string key = message.key.empty() ? http::make_idempotency_key() : message.key;
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database, kInsert, -1, &prepared, nullptr) != SQLITE_OK) {
    return unexpected(error_of(database));
  }
  const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(prepared);
  const std::array<std::string_view, 5> texts = {message.application, message.type, message.channel,
                                                 message.ordering_key, key};
  int result = SQLITE_OK;
  for (int i = 0; i < static_cast<int>(texts.size()) && result == SQLITE_OK; ++i) {
    const std::string_view text = texts[static_cast<std::size_t>(i)];
    // Never a null pointer: that would be NULL.
    result = sqlite3_bind_text(prepared, i + 1, text.empty() ? "" : text.data(),
                               static_cast<int>(text.size()), SQLITE_STATIC);
  }
  if (result == SQLITE_OK) {
    result = sqlite3_bind_blob64(prepared, 6, message.payload.data(), message.payload.size(),
                                 SQLITE_STATIC);
  }
  if (result != SQLITE_OK || sqlite3_step(prepared) != SQLITE_DONE) {
    return unexpected(error_of(database));
  }
  return key;
}

std::vector<OutboxRow> read_outbox(store::Database& database, std::size_t most) {
  const store::Statement select(
      database,
      "SELECT number, application, type, channel, ordering_key, key, payload FROM damper_outbox "
      "WHERE error IS NULL ORDER BY number LIMIT ?1");
  store::Statement::Run run(select);
  run.bind(static_cast<std::int64_t>(most));
  std::vector<OutboxRow> rows;
  std::set<std::pair<std::string, std::string>> keys;
  while (run.step()) {
    OutboxRow row{.number = run.number(0),
                  .message = {.type = std::string(run.bytes(2)),
                              .payload = std::string(run.bytes(6)),
                              .application = std::string(run.bytes(1)),
                              .channel = std::string(run.bytes(3)),
                              .ordering_key = std::string(run.bytes(4)),
                              .key = std::string(run.bytes(5))}};
    const OutboxMessage& message = row.message;
    if (!message.ordering_key.empty() &&
        !keys.emplace(message.application, message.ordering_key).second) {
      continue;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace damper::webhooks
