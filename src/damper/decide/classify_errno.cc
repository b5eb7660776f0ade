#include "damper/decide/classify_errno.h"

#include <cerrno>
#include <optional>

namespace damper::decide {
namespace {

std::optional<int> find_errno(const std::error_code& error) noexcept {
  // Asked first: EHOSTDOWN is not in POSIX, so that libstdc++ maps it to no generic condition.
  if (error.category() == std::system_category()) return error.value();
  const std::error_condition condition = error.default_error_condition();
  if (condition.category() != std::generic_category()) return std::nullopt;
  return condition.value();
}

}  // namespace

Outcome classify(const std::error_code& error) noexcept {
  if (!error) return Outcome::success;
  const std::optional<int> number = find_errno(error);
  if (!number) return Outcome::permanent;
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
