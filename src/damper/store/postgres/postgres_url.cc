#include "damper/store/postgres/postgres_url.h"

#include <libpq-fe.h>

#include <memory>

namespace damper::store {
namespace {

constexpr std::string_view kShort = "postgres://";
constexpr std::string_view kLong = "postgresql://";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
struct FreeText {
  void operator()(char* text) const noexcept { PQfreemem(text); }
};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// The URL without what is between the first ':' of the user and the last '@' of the authority, and
// without the value of a parameter `password`.
std::string without_password(std::string_view url) {
  std::string text(url);
  const std::size_t start = text.find("://") + 3;
  const std::size_t end = text.find_first_of("/?#", start);
  const std::size_t at = text.rfind('@', end == std::string::npos ? end : end - 1);
  if (at != std::string::npos && at >= start) {
    const std::size_t colon = text.find(':', start);
    if (colon < at) text.erase(colon, at - colon);
  }
  for (const std::string_view name : {"password=", "sslpassword="}) {
    for (std::size_t from = text.find(name); from != std::string::npos;
         from = text.find(name, from + name.size())) {
      const std::size_t value = from + name.size();
      text.replace(value, std::min(text.find('&', value), text.size()) - value, "***");
    }
  }
  return text;
}

}  // namespace

bool is_postgres_url(std::string_view text) noexcept {
  return text.starts_with(kShort) || text.starts_with(kLong);
}

Expected<PostgresUrl> PostgresUrl::parse(std::string_view url) {
  if (!is_postgres_url(url)) {
    return unexpected("the database's URL does not start with postgres:// or postgresql://");
  }
  PostgresUrl parsed;
  parsed.url_ = url;
  parsed.text_ = without_password(url);
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(parsed.url_.c_str(), &error));
  const std::unique_ptr<char, FreeText> owned(error);
  if (options == nullptr) {
    // libpq's sentence may have any part of the URL.
    return unexpected("the database's URL '" + parsed.text_ +
                      "' is not valid: it has the form "
                      "postgres://user:password@host:port/database?name=value, with %-encoding");
  }
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && std::string_view(option->keyword) == "password") {
      parsed.password_ = option->val;
    }
  }
  return parsed;
}

std::string PostgresUrl::redact(std::string sentence) const {
  replace_all(sentence, url_, text_);
  replace_all(sentence, password_, "***");
  return sentence;
}

}  // namespace damper::store
