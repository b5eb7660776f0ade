#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/config/schema.h"
#include "damper/http/server/listen_address.h"
#include "damper/http/trace/trace_exporter.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {

// Which attempts are written to the log.
enum class AttemptLogging : std::uint8_t {
  off,
  failures,  // retries, and first attempts that fail
  all,
};
inline constexpr EnumNames<AttemptLogging::all> kAttemptLoggingNames = {"off", "failures", "all"};

// The configuration of `damper webhooks serve`: its file, and its flags.
struct ServeOptions {
  http::ListenAddress listen{.host = "127.0.0.1", .port = 8071};
  std::string store = "damper-webhooks.db";  // a file of SQLite, or a postgres:// URL
  std::string token_file{};                  // see ApiTokens; required if `listen` is not loopback
  std::string secret_key_file{};             // see Sealer; empty: beside the SQLite file
  std::string proxy_credentials_file{};      // of dispatcher.proxy; empty: none
  AttemptLogging log_attempts = AttemptLogging::failures;
  std::size_t max_payload = std::size_t{256} << 10;
  Duration keep_messages = std::chrono::hours(24 * 7);
  Duration keep_dead_letters = std::chrono::hours(24 * 30);
  std::int64_t keep_attempts = 1'000'000;  // of the attempt log
  Duration drain_time = std::chrono::seconds(25);
  // Of the retries; with another one than `listed`, policy.backoff is made of them.
  RetrySchedule schedule = RetrySchedule::listed;
  Duration backoff_base = kBackoffBase;
  Duration backoff_cap = kBackoffCap;
  std::int32_t max_attempts = kBackoffAttempts;
  DispatcherOptions dispatcher{};
  // Where the spans of requests and attempts are exported to; nothing: dispatcher.tracer has them.
  std::optional<http::TraceExporterOptions> tracing{};
};

// The dispatcher's options with the schedule in its policy.
[[nodiscard]] DispatcherOptions dispatcher_options(const ServeOptions& options);

// All keys of the file.
[[nodiscard]] const config::Schema<ServeOptions>& serve_schema();

// Reads a file: `text` is its content, `name` is what errors call it. The error is one sentence
// with the place.
[[nodiscard]] Expected<ServeOptions> load_serve_options(std::string_view text,
                                                        std::string_view name);

// What does not depend on one key alone; nothing when the options are valid.
[[nodiscard]] std::optional<std::string> find_error(const ServeOptions& options);

}  // namespace damper::webhooks
