#include "damper/http/net/tcp_transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <limits>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {
namespace {

constexpr std::size_t kRead = 0;  // of arrays by Direction
constexpr std::size_t kWrite = 1;

}  // namespace

TcpTransport::TcpTransport(Loop& loop, int fd)
    : Loop::TurnEnd(loop), fd_(fd), is_registered_(loop.try_add(fd, *this)) {
  // Without events it is unusable: reads then return EOF at once.
  if (!is_registered_) (void)::shutdown(fd, SHUT_RDWR);
  const int yes = 1;
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  TcpTransport::set_send_timeout(kSendTimeout);
}

TcpTransport::~TcpTransport() { TcpTransport::close(false); }

void TcpTransport::set_send_timeout(Duration timeout) noexcept {
  if (fd_ < 0) return;
  const auto ms = static_cast<unsigned>(std::clamp<std::int64_t>(
      timeout / std::chrono::milliseconds(1), 1, std::numeric_limits<int>::max()));
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

void TcpTransport::wait(Direction wait, Direction then, Waiter& waiter, bool soon) {
  DAMPER_CHECK(fd_ >= 0);
  const auto index = static_cast<std::size_t>(wait);
  Waiters& waiters = waiters_[index];
  if (!waiters.any()) turn_loop().hold();
  (then == Direction::read ? waiters.to_read : waiters.to_write) = &waiter;
  if (!soon && !ready_[index] && is_registered_) return;
  soon_[index] = true;
  ask_turn_end();
}

void TcpTransport::on_events(std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLHUP | EPOLLERR;
  if ((events & (EPOLLRDHUP | kEnd)) != 0) has_half_closed_ = true;
  if ((events & kEnd) != 0) has_hung_up_ = true;
  if ((events & (EPOLLOUT | kEnd)) != 0) ready_[kWrite] = true;
  const bool readable = (events & (EPOLLIN | EPOLLRDHUP | kEnd)) != 0;
  if (readable) ready_[kRead] = true;
  call_waiters({readable, ready_[kWrite]});
}

void TcpTransport::on_turn_end() { call_waiters(std::exchange(soon_, {})); }

void TcpTransport::call_waiters(const std::array<bool, 2>& directions) {
  Loop& loop = turn_loop();
  loop.set_current(*this);
  for (const std::size_t index : {kRead, kWrite}) {
    if (!directions[index] || !waiters_[index].any()) continue;
    const Waiters waiters = std::exchange(waiters_[index], {});
    loop.release();
    soon_[index] = false;
    if (waiters.to_read != nullptr) waiters.to_read->on_readable();
    // Each call may close or destroy the socket: then no other waiter is called.
    if (!loop.is_current(*this)) return;
    if (waiters.to_write != nullptr) waiters.to_write->on_writable();
    if (!loop.is_current(*this)) return;
  }
}

void TcpTransport::close(bool reset) noexcept {
  if (fd_ < 0) return;
  if (reset) {
    const ::linger now{.l_onoff = 1, .l_linger = 0};
    (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }
  (void)::close(release());
}

int TcpTransport::release() noexcept {
  for (Waiters& waiters : waiters_) {
    if (std::exchange(waiters, {}).any()) turn_loop().release();
  }
  cancel_turn_end();
  turn_loop().remove(fd_, *this);
  return std::exchange(fd_, -1);
}

Transport::IoResult TcpTransport::recv(std::span<char> into) {
  for (;;) {
    const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      // A short read has emptied the socket: only EOF can be pending.
      if (bytes < into.size()) ready_[kRead] = has_half_closed_;
      return {Status::ok, bytes};
    }
    if (got == 0) {
      const bool again = std::exchange(eof_read_, true);
      if (again || !has_hung_up_) ready_[kRead] = false;
      return {again && is_broken() ? Status::failed : Status::end, 0};
    }
    if (errno == EINTR) continue;
    return refused(Direction::read);
  }
}

Transport::IoResult TcpTransport::peek(std::span<char> into) {
  for (;;) {
    const ssize_t got = ::recv(fd_, into.data(), into.size(), MSG_PEEK);
    if (got > 0) return {Status::ok, static_cast<std::size_t>(got)};
    if (got == 0) return {Status::end, 0};
    if (errno != EINTR) return refused(Direction::read);
  }
}

// After EOF only a reset can follow, which a read does not report.
bool TcpTransport::is_broken() const noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
}

Transport::IoResult TcpTransport::send(std::string_view bytes) {
  for (;;) {
    const ssize_t put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) return {Status::ok, static_cast<std::size_t>(put)};
    if (errno == EINTR) continue;
    return refused(Direction::write);
  }
}

// The result of a read or write that set errno.
Transport::IoResult TcpTransport::refused(Direction direction) noexcept {
  if (errno != EAGAIN && errno != EWOULDBLOCK) return {Status::failed, 0};
  ready_[static_cast<std::size_t>(direction)] = false;
  return {Status::again, 0};
}

void TcpTransport::shut_down_send() noexcept {
  if (fd_ >= 0) (void)::shutdown(fd_, SHUT_WR);
}

std::string TcpTransport::peer() const {
  boost::asio::ip::tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (::getpeername(fd_, endpoint.data(), &size) != 0) return {};
  if (endpoint.data()->sa_family == AF_UNIX) return std::string(kUnixPeer);
  endpoint.resize(size);
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

}  // namespace damper::http
