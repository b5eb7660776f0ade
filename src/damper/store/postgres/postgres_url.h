#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "damper/base/expected.h"

namespace damper::store {

// Whether the text is the URL of a PostgreSQL database: postgres://... or postgresql://...
[[nodiscard]] bool is_postgres_url(std::string_view text) noexcept;

// A PostgresUrl is where a database is, and with which user and password.
//
// Invariants:
//   (1) Neither error() of parse() nor text() has the password.
// Thread safety: const methods may be called concurrently.
class PostgresUrl {
 public:
  // postgres://[user[:password]@][host[:port],...][/database][?name=value&...], as libpq reads it.
  // The error is a sentence.
  [[nodiscard]] static Expected<PostgresUrl> parse(std::string_view url);

  // Without the password: for logs.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // With it: for libpq.
  [[nodiscard]] const std::string& secret_text() const noexcept { return url_; }
  // `sentence` with "***" in place of the password.
  [[nodiscard]] std::string redact(std::string sentence) const;

 private:
  PostgresUrl() = default;

  std::string url_;
  std::string text_;
  std::string password_;
};

}  // namespace damper::store
