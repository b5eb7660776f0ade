#include "damper/proxy/data/listener_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace damper::proxy {
namespace {

constexpr int kBacklog = 1024;

struct Where {
  sockaddr_storage address{};
  socklen_t size = 0;  // 0: it is no address
};

Where parse(const std::string& text, std::uint16_t port) {
  Where where;
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    auto& address = reinterpret_cast<sockaddr_in&>(where.address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr = v4;
    where.size = sizeof(address);
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    auto& address = reinterpret_cast<sockaddr_in6&>(where.address);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = v6;
    where.size = sizeof(address);
  }
  return where;
}

std::uint16_t port_of(const Where& where) {
  return ntohs(where.address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(where.address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(where.address).sin_port);
}

std::string print(const Where& where) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (where.address.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(where.address);
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(port_of(where));
  }
  if (where.address.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(where.address);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(port_of(where));
  }
  return {};
}

Where local(int fd) {
  Where where;
  where.size = sizeof(where.address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&where.address), &where.size) != 0) return {};
  return where;
}

std::string failure(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

}  // namespace

std::string bound_to(int fd) { return print(local(fd)); }

std::string place_of(const std::string& address, std::uint16_t port) {
  return print(parse(address, port));
}

ListenerSockets::ListenerSockets(ListenerSockets&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      owners_(std::exchange(other.owners_, {})),
      copies_(std::exchange(other.copies_, {})),
      port_(other.port_),
      where_(std::move(other.where_)),
      listens_(other.listens_) {}

Expected<ListenerSockets> ListenerSockets::bind(const std::string& address, std::uint16_t port,
                                                std::size_t loops) {
  ListenerSockets made;
  made.where_ = address + ":" + std::to_string(port);
  made.port_ = port;
  for (std::size_t i = 0; i < loops; ++i) {
    const Where where = parse(address, made.port_);
    if (where.size == 0) return unexpected("\"" + address + "\" is no IP address");
    const int fd = ::socket(where.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return unexpected(failure("cannot listen on " + made.where_));
    made.fds_.push_back(fd);
    const int yes = 1;
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) != 0 ||
        ::bind(fd, reinterpret_cast<const sockaddr*>(&where.address), where.size) != 0) {
      return unexpected(failure("cannot listen on " + made.where_));
    }
    made.port_ = port_of(local(fd));
  }
  if (auto error = made.duplicate(loops)) return unexpected(*error);
  return made;
}

Expected<ListenerSockets> ListenerSockets::adopt(const std::vector<int>& fds, std::size_t loops) {
  ListenerSockets made;
  made.listens_ = true;
  for (const int fd : fds) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
      return unexpected("descriptor " + std::to_string(fd) + " is no socket that listens");
    }
    const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return unexpected(failure("cannot take over a socket"));
    made.fds_.push_back(own);
    made.where_ = bound_to(own);
    made.port_ = port_of(local(own));
  }
  if (auto error = made.duplicate(loops)) return unexpected(*error);
  return made;
}

std::optional<std::string> ListenerSockets::listen() {
  if (listens_) return std::nullopt;
  for (const int fd : fds_) {
    if (::listen(fd, kBacklog) != 0) return failure("cannot listen on " + where_);
  }
  listens_ = true;
  return std::nullopt;
}

std::optional<std::string> ListenerSockets::duplicate(std::size_t loops) {
  copies_.resize(loops);
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    owners_.push_back(i + fds_.size() < loops ? std::nullopt : std::optional(i % loops));
  }
  for (std::size_t i = 0; i < std::max(loops, fds_.size()); ++i) {
    const int copy = ::fcntl(fds_[i % fds_.size()], F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return failure("cannot listen on " + where_);
    copies_[i % loops].push_back(copy);
  }
  return std::nullopt;
}

std::vector<int> ListenerSockets::take(std::size_t loop) {
  return std::exchange(copies_[loop], {});
}

void ListenerSockets::give_up(std::size_t loop) noexcept {
  for (std::size_t i = fds_.size(); i-- > 0;) {
    if (owners_[i] != loop) continue;
    ::close(fds_[i]);
    fds_.erase(fds_.begin() + static_cast<std::ptrdiff_t>(i));
    owners_.erase(owners_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void ListenerSockets::close() noexcept {
  for (const int fd : fds_) ::close(fd);
  for (const std::vector<int>& copies : copies_) {
    for (const int fd : copies) ::close(fd);
  }
  fds_.clear();
  copies_.clear();
}

}  // namespace damper::proxy
