#include "damper/store/postgres/postgres.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "damper/base/check.h"

namespace damper::store {
namespace {

// pg_type.h of the server, whose numbers never change.
constexpr Oid kBool = 16;
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kByteaArray = 1001;
constexpr Oid kTextArray = 1009;
constexpr Oid kInt8Array = 1016;

void append(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// The binary form of an array of one dimension without nulls.
std::string array_head(Oid element, std::size_t size) {
  std::string out;
  append(out, size == 0 ? 0 : 1, 4);  // dimensions
  append(out, 0, 4);                  // no nulls
  append(out, element, 4);
  if (size == 0) return out;
  append(out, size, 4);
  append(out, 1, 4);  // the first index
  return out;
}

std::string array_of(Oid element, std::span<const std::string_view> values) {
  std::string out = array_head(element, values.size());
  for (const std::string_view value : values) {
    append(out, value.size(), 4);
    out.append(value);
  }
  return out;
}

// libpq's and the server's texts have several lines, and end with one.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::erase(text, '\t');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// PQconnectdbParams() takes the URL as "dbname", and what comes after it only if the URL does not
// set it. A connection whose peer is gone must not block its thread for a quarter of an hour.
constexpr std::array<std::pair<const char*, const char*>, 6> kDefaults = {{
    {"connect_timeout", "5"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "2"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
    {"fallback_application_name", "damper webhooks"},
}};

}  // namespace

PgParameters& PgParameters::push(Oid type, std::string value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  nulls_.push_back(false);
  return *this;
}

PgParameters& PgParameters::add(std::int64_t value) {
  std::string bytes;
  append(bytes, static_cast<std::uint64_t>(value), 8);
  return push(kInt8, std::move(bytes));
}

PgParameters& PgParameters::add(bool value) { return push(kBool, std::string(1, value ? 1 : 0)); }

PgParameters& PgParameters::add_text(std::string_view text) {
  return push(kText, std::string(text));
}

PgParameters& PgParameters::add_bytes(std::string_view bytes) {
  return push(kBytea, std::string(bytes));
}

PgParameters& PgParameters::add_null() {
  push(kInt8, {});
  nulls_.back() = true;
  return *this;
}

PgParameters& PgParameters::add_array(std::span<const std::int64_t> values) {
  std::string out = array_head(kInt8, values.size());
  out.reserve(out.size() + values.size() * 12);
  for (const std::int64_t value : values) {
    append(out, 8, 4);
    append(out, static_cast<std::uint64_t>(value), 8);
  }
  return push(kInt8Array, std::move(out));
}

PgParameters& PgParameters::add_texts(std::span<const std::string_view> texts) {
  return push(kTextArray, array_of(kText, texts));
}

PgParameters& PgParameters::add_bytes_array(std::span<const std::string_view> bytes) {
  return push(kByteaArray, array_of(kBytea, bytes));
}

std::int64_t PgResult::changes() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t count = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool PgResult::is_null(int row, int column) const noexcept {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::int64_t PgResult::number(int row, int column) const {
  if (is_null(row, column)) return 0;
  DAMPER_CHECK(PQftype(result_.get(), column) == kInt8);
  std::uint64_t value = 0;
  for (const char byte : text(row, column)) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

bool PgResult::boolean(int row, int column) const {
  DAMPER_CHECK(PQftype(result_.get(), column) == kBool);
  return !is_null(row, column) && text(row, column) == std::string_view("\1", 1);
}

std::string_view PgResult::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

PgExpected<std::unique_ptr<PgConnection>> PgConnection::open(const PostgresUrl& url) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : kDefaults) {
    names.push_back(name);
    values.push_back(value);
  }
  names.push_back("dbname");  // Last: the URL overrides the defaults.
  values.push_back(url.secret_text().c_str());
  names.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<PgConnection> opened(
      new PgConnection(PQconnectdbParams(names.data(), values.data(), 1), url));
  if (opened->connection_ == nullptr || opened->is_lost()) {
    PgError error = opened->error();
    error.sentence = "the database " + url.text() + " cannot be connected to: " + error.sentence;
    error.state.clear();
    return unexpected(std::move(error));
  }
  (void)PQsetNoticeProcessor(
      opened->connection_.get(), [](void*, const char*) {}, nullptr);
  return opened;
}

PgError PgConnection::error(const PGresult* result) const {
  PgError error;
  const char* const text =
      result != nullptr ? PQresultErrorMessage(result) : PQerrorMessage(connection_.get());
  error.sentence = url_.redact(one_line(text != nullptr ? text : ""));
  if (error.sentence.empty()) error.sentence = "the connection to the database was lost";
  const char* const state =
      result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  // A server that ends says so with a state; the session is gone all the same.
  if (state != nullptr && !is_lost()) error.state = state;
  if (error.state.empty() && !is_lost()) error.state = "XX000";
  return error;
}

PgExpected<bool> PgConnection::execute(const std::string& sql) {
  const PgResult result(PQexec(connection_.get(), sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    return unexpected(error(result.get()));
  }
  return true;
}

std::optional<PgError> PgConnection::prepare(const PgCall& call) {
  if (is_lost()) return PgError{"the connection to the database was lost"};
  if (prepared_.contains(call.statement.name)) return std::nullopt;
  const std::vector<Oid>& types = call.parameters.types_;
  const PgResult result(PQprepare(connection_.get(), call.statement.name, call.statement.sql,
                                  static_cast<int>(types.size()), types.data()));
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) return error(result.get());
  prepared_.insert(call.statement.name);
  return std::nullopt;
}

bool PgConnection::send(const PgCall& call) {
  const PgParameters& parameters = call.parameters;
  const std::size_t count = parameters.types_.size();
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(count, 1);  // binary
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(parameters.nulls_[i] ? nullptr : parameters.values_[i].data());
    lengths.push_back(static_cast<int>(parameters.values_[i].size()));
  }
  return PQsendQueryPrepared(connection_.get(), call.statement.name, static_cast<int>(count),
                             values.data(), lengths.data(), formats.data(), 1) != 0;
}

PgExpected<std::vector<PgResult>> PgConnection::read_all() {
  std::vector<PgResult> results;
  std::optional<PgError> failed;
  for (int ends = 0; ends < 2;) {  // A second nullptr: the connection is gone.
    PgResult result(PQgetResult(connection_.get()));
    if (result.get() == nullptr) {
      ++ends;
      continue;
    }
    ends = 0;
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) {
      if (failed) return unexpected(*std::move(failed));
      return results;
    }
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      results.push_back(std::move(result));
    } else if (status != PGRES_PIPELINE_ABORTED && !failed) {
      failed = error(result.get());
    }
  }
  return unexpected(failed ? *std::move(failed) : error());
}

PgExpected<std::vector<PgResult>> PgConnection::query_all(std::span<const PgCall> calls) {
  for (const PgCall& call : calls) {
    if (auto failed = prepare(call)) return unexpected(*std::move(failed));
  }
  bool sent = PQenterPipelineMode(connection_.get()) != 0;
  for (const PgCall& call : calls) sent = sent && send(call);
  sent = sent && PQpipelineSync(connection_.get()) != 0;
  if (!sent) {
    PgError failed{error().sentence};  // What was queued has no end: the session is not used again.
    broken_ = true;
    return unexpected(std::move(failed));
  }
  auto results = read_all();
  if (!is_lost()) {
    (void)PQexitPipelineMode(connection_.get());
  } else if (!results) {
    return unexpected(PgError{results.error().sentence});
  }
  return results;
}

PgExpected<PgResult> PgConnection::query(const PgCall& call) {
  if (auto failed = prepare(call)) return unexpected(*std::move(failed));
  if (!send(call)) return unexpected(PgError{error().sentence});
  std::optional<PgResult> last;
  for (PgResult next(PQgetResult(connection_.get())); next.get() != nullptr;
       next = PgResult(PQgetResult(connection_.get()))) {
    if (last && PQresultStatus(last->get()) == PGRES_FATAL_ERROR) continue;
    last = std::move(next);
  }
  if (!last) return unexpected(error());
  const ExecStatusType status = PQresultStatus(last->get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    return unexpected(error(last->get()));
  }
  return *std::move(last);
}

PgExpected<bool> PgConnection::input() {
  if (PQconsumeInput(connection_.get()) == 0 || is_lost()) return unexpected(error());
  return true;
}

std::optional<PgNotification> PgConnection::next_notification() {
  struct Free {
    void operator()(PGnotify* notification) const noexcept { PQfreemem(notification); }
  };
  const std::unique_ptr<PGnotify, Free> found(PQnotifies(connection_.get()));
  if (found == nullptr) return std::nullopt;
  return PgNotification{.payload = found->extra,
                        .own = found->be_pid == PQbackendPID(connection_.get())};
}

}  // namespace damper::store
