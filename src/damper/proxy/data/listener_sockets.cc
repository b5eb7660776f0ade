#include "damper/proxy/data/listener_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "damper/http/net/unix_address.h"

namespace damper::proxy {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 1024;

std::optional<tcp::endpoint> find_endpoint(const std::string& address, std::uint16_t port) {
  boost::system::error_code failed;
  const auto parsed = boost::asio::ip::make_address(address, failed);
  return failed ? std::nullopt : std::optional(tcp::endpoint(parsed, port));
}

// Whether a process accepts connections there.
bool answers(const http::UnixAddress& where) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused =
      ::connect(fd, where.data(), where.size()) != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  ::close(fd);
  return !refused;
}

std::uint64_t inode_of(const std::string& file) {
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return 0;
  return found.st_ino;
}

std::string failure(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

}  // namespace

std::optional<http::ListenAddress> find_bound(int fd) {
  if (const auto path = http::UnixAddress::of_socket(fd)) {
    return http::ListenAddress{path->text(), 0};
  }
  tcp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(fd, bound.data(), &size) != 0) return std::nullopt;
  const int family = bound.data()->sa_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  return http::ListenAddress{bound.address().to_string(), bound.port()};
}

bool is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || value == 0) return false;
  size = sizeof(value);
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size) == 0 && value == SOCK_STREAM;
}

bool is_taken(const http::ListenAddress& address) {
  if (http::UnixAddress::is_unix(address.host)) {
    const auto path = http::UnixAddress::parse(address.host);
    return path && (path->path().empty() || inode_of(path->path()) != 0) && answers(*path);
  }
  const auto where = find_endpoint(address.host, address.port);
  if (address.port == 0 || !where) return false;
  const int fd = ::socket(where->protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;  // The bind that follows reports why.
  const int yes = 1;         // A socket in TIME_WAIT does not count.
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool bound = ::bind(fd, where->data(), static_cast<socklen_t>(where->size())) == 0;
  const bool taken = !bound && errno == EADDRINUSE;
  ::close(fd);
  return taken;
}

ListenerSockets::ListenerSockets(ListenerSockets&& other) noexcept
    : fds_(std::exchange(other.fds_, {})),
      owners_(std::exchange(other.owners_, {})),
      copies_(std::exchange(other.copies_, {})),
      port_(other.port_),
      where_(std::move(other.where_)),
      listens_(other.listens_),
      file_(std::exchange(other.file_, {})),
      removes_(std::exchange(other.removes_, false)),
      inode_(other.inode_) {}

Expected<ListenerSockets> ListenerSockets::bind(const std::string& address, std::uint16_t port,
                                                std::size_t loops) {
  ListenerSockets made;
  made.where_ = address + ":" + std::to_string(port);
  made.port_ = port;
  for (std::size_t i = 0; i < loops; ++i) {
    const auto where = find_endpoint(address, made.port_);
    if (!where) return unexpected("\"" + address + "\" is no IP address");
    constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    const int fd = ::socket(where->protocol().family(), kType, 0);
    if (fd < 0) return unexpected(failure("cannot listen on " + made.where_));
    made.fds_.push_back(fd);
    const int yes = 1;
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) != 0 ||
        ::bind(fd, where->data(), static_cast<socklen_t>(where->size())) != 0) {
      return unexpected(failure("cannot listen on " + made.where_));
    }
    made.port_ = find_bound(fd).value_or(http::ListenAddress{}).port;
  }
  if (auto error = made.duplicate(loops)) return unexpected(*error);
  return made;
}

Expected<ListenerSockets> ListenerSockets::bind_unix(const std::string& address,
                                                     const std::string& mode, std::size_t loops) {
  const auto where = http::UnixAddress::parse(address);
  if (!where) return unexpected(where.error());
  ListenerSockets made;
  made.where_ = address;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return unexpected(failure("cannot listen on " + address));
  made.fds_.push_back(fd);
  const std::string file = where->path();
  bool bound = ::bind(fd, where->data(), where->size()) == 0;
  if (!bound && errno == EADDRINUSE && !file.empty()) {
    if (inode_of(file) == 0) {
      return unexpected("cannot listen on " + address + ": the file is not a socket");
    }
    if (answers(*where)) {
      return unexpected("cannot listen on " + address + ": another process listens there");
    }
    // Left by a process that was killed.
    bound = ::unlink(file.c_str()) == 0 && ::bind(fd, where->data(), where->size()) == 0;
  }
  if (!bound) return unexpected(failure("cannot listen on " + address));
  made.file_ = file;
  made.removes_ = !file.empty();
  made.inode_ = file.empty() ? 0 : inode_of(file);
  made.set_mode(mode);  // Before it listens.
  if (auto error = made.duplicate(loops)) return unexpected(*error);
  return made;
}

void ListenerSockets::inherit_file() {
  const auto where = fds_.empty() ? std::nullopt : http::UnixAddress::of_socket(fds_.front());
  if (!where || where->path().empty()) return;
  file_ = where->path();
  inode_ = inode_of(file_);
}

void ListenerSockets::set_mode(const std::string& mode) const noexcept {
  if (file_.empty() || mode.empty()) return;
  (void)::chmod(file_.c_str(), static_cast<mode_t>(std::strtoul(mode.c_str(), nullptr, 8)));
}

bool ListenerSockets::has_lost_file() const noexcept {
  struct stat found {};
  return !file_.empty() && ::lstat(file_.c_str(), &found) != 0 && errno == ENOENT;
}

Expected<ListenerSockets> ListenerSockets::adopt(const std::vector<int>& fds, std::size_t loops) {
  ListenerSockets made;
  made.listens_ = true;
  for (const int fd : fds) {
    const auto bound = find_bound(fd);
    if (!bound || !is_listening(fd)) {
      return unexpected("descriptor " + std::to_string(fd) + " is no socket that listens");
    }
    const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return unexpected(failure("cannot take over a socket"));
    made.fds_.push_back(own);
    made.where_ = bound->text();
    made.port_ = bound->port;
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
  // Only if it is still the file of this socket.
  if (std::exchange(removes_, false) && !file_.empty() && inode_of(file_) == inode_) {
    (void)::unlink(file_.c_str());
  }
  for (const int fd : fds_) ::close(fd);
  for (const std::vector<int>& copies : copies_) {
    for (const int fd : copies) ::close(fd);
  }
  fds_.clear();
  copies_.clear();
}

}  // namespace damper::proxy
