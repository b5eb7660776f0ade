#include "damper/http/net/unix_address.h"

#include <algorithm>

namespace damper::http {

Expected<UnixAddress> UnixAddress::parse(std::string_view text) {
  if (!is_unix(text)) return unexpected(std::string("it does not begin with unix:"));
  const std::string_view rest = text.substr(kPrefix.size());
  if (rest.size() < 2 || (rest[0] != '/' && rest[0] != '@')) {
    return unexpected(std::string("after unix: stands an absolute path, or @ and a name"));
  }
  if (rest.size() > kMostBytes) {
    return unexpected("the path of a Unix socket has " + std::to_string(rest.size()) +
                      " bytes; it must have at most " + std::to_string(kMostBytes));
  }
  if (!std::all_of(rest.begin(), rest.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
    return unexpected(std::string("the path of a Unix socket has a character that is not visible"));
  }
  UnixAddress out;
  out.address_.sun_family = AF_UNIX;
  std::copy(rest.begin(), rest.end(), out.address_.sun_path);
  const bool is_abstract = rest[0] == '@';
  if (is_abstract) out.address_.sun_path[0] = '\0';
  out.size_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + rest.size() + (is_abstract ? 0 : 1));
  return out;
}

std::optional<UnixAddress> UnixAddress::of_socket(int fd) {
  UnixAddress out;
  out.size_ = sizeof(out.address_);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&out.address_), &out.size_) != 0 ||
      out.address_.sun_family != AF_UNIX || out.size_ <= offsetof(sockaddr_un, sun_path) + 1) {
    return std::nullopt;
  }
  out.size_ = std::min<socklen_t>(out.size_, sizeof(out.address_));
  return out;
}

std::string UnixAddress::text() const {
  const bool is_abstract = address_.sun_path[0] == '\0';
  std::string rest(address_.sun_path, size_ - offsetof(sockaddr_un, sun_path));
  if (is_abstract) {
    rest[0] = '@';
  } else {
    rest.resize(std::min(rest.size(), rest.find('\0')));
  }
  return std::string(kPrefix) + rest;
}

std::string UnixAddress::path() const {
  const std::string whole = text();
  return whole[kPrefix.size()] == '@' ? std::string() : whole.substr(kPrefix.size());
}

}  // namespace damper::http
