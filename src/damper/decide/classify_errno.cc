#include "damper/decide/classify_errno.h"

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

namespace damper::decide {
namespace {

std::optional<int> find_errno(const std::error_code& error) noexcept {
  // Asked first: EHOSTDOWN is not in POSIX, so that libstdc++ maps it to no generic condition.
  if (error.category() == std::system_category()) return error.value();
  const std::error_condition condition = error.default_error_condition();
  if (condition.category() != std::generic_category()) return std::nullopt;
  return condition.value();
}

// By name and number: the categories are in headers of others.
struct ForeignCode {
  std::string_view category;
  int value;
  Outcome outcome;
};
constexpr std::array kForeign = {
    ForeignCode{"asio.misc", 2, Outcome::transient},         // eof
    ForeignCode{"asio.ssl.stream", 1, Outcome::transient},   // stream_truncated
    ForeignCode{"asio.netdb", 1, Outcome::unavailable},      // host_not_found
    ForeignCode{"asio.netdb", 2, Outcome::unavailable},      // host_not_found_try_again
    ForeignCode{"boost.beast", 1, Outcome::timeout},         // timeout
    ForeignCode{"boost.beast.http", 1, Outcome::transient},  // end_of_stream
    ForeignCode{"boost.beast.http", 2, Outcome::transient},  // partial_message
};

Outcome classify_foreign(const std::error_code& error) noexcept {
  for (const ForeignCode& code : kForeign) {
    if (error.value() == code.value && error.category().name() == code.category) {
      return code.outcome;
    }
  }
  return Outcome::permanent;
}

}  // namespace

Outcome classify(const std::error_code& error) noexcept {
  if (!error) return Outcome::success;
  const std::optional<int> number = find_errno(error);
  if (!number) return classify_foreign(error);
  switch (*number) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case EADDRNOTAVAIL: return Outcome::unavailable;
    case ETIMEDOUT: return Outcome::timeout;
    case ECONNRESET:
    case ECONNABORTED:
    case ENETRESET:
    case EPIPE:
    case EAGAIN:  // Also EWOULDBLOCK, where we run.
    case EINTR: return Outcome::transient;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return Outcome::overload;
    case ECANCELED: return Outcome::cancelled;
    default: return Outcome::permanent;
  }
}

}  // namespace damper::decide
