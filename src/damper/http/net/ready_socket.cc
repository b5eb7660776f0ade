#include "damper/http/net/ready_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/poller.h"

namespace damper::http {

using Direction = ReadySocket::Direction;

namespace {

constexpr std::size_t index_of(Direction direction) { return static_cast<std::size_t>(direction); }

}  // namespace

// What the poller tells, and who waits for it. It may outlive the socket for as long as the poller
// is at it.
class ReadySocket::Block final : public Poller::Place {
 public:
  Block(boost::asio::io_context& context, int fd)
      : poller_(Poller::of(context)), fd_(fd), is_registered_(poller_.try_add(fd, *this)) {
    // Without a place in the poller nobody would ever hear of it: then it is ready, for its end.
    if (!is_registered_) (void)::shutdown(fd, SHUT_RDWR);
  }

  [[nodiscard]] Poller& poller() const noexcept { return poller_; }
  // Waits until the socket is ready for `wait`; at once if it may be, or if it is to be `soon`.
  void wait(Direction wait, Direction then, Transport::Waiter& waiter, bool soon);
  // A read got less than it had room for: there is nothing more, unless the peer has ended.
  void on_short_read() noexcept { ready_[index_of(Direction::read)] = has_ended_; }
  // Whether nothing goes either way any more: a reset, perhaps.
  [[nodiscard]] bool has_hung_up() const noexcept { return has_hung_up_; }
  // Nothing is to be had in this direction until the socket says so again.
  void on_exhausted(Direction direction) noexcept { ready_[index_of(direction)] = false; }
  void close() noexcept;

 private:
  // Who waits for a direction, to go on reading and to go on writing.
  struct Waiters {
    Transport::Waiter* to_read = nullptr;
    Transport::Waiter* to_write = nullptr;
    [[nodiscard]] bool any() const noexcept { return to_read != nullptr || to_write != nullptr; }
  };

  void on_events(std::uint32_t events) override;
  void on_soon() override;
  void call(Direction direction);

  Poller& poller_;
  int fd_;
  bool is_registered_;
  bool has_ended_ = false;  // the peer
  bool has_hung_up_ = false;
  std::array<bool, 2> ready_{false, true};  // as far as is known
  std::array<bool, 2> soon_{};              // to be called without a change
  std::array<Waiters, 2> waiters_{};
};

void ReadySocket::Block::wait(Direction wait, Direction then, Transport::Waiter& waiter,
                              bool soon) {
  const std::size_t index = index_of(wait);
  Waiters& waiters = waiters_[index];
  if (!waiters.any()) poller_.hold();
  (then == Direction::read ? waiters.to_read : waiters.to_write) = &waiter;
  if (!soon && !ready_[index] && is_registered_) return;
  soon_[index] = true;
  poller_.call_soon(*this);
}

void ReadySocket::Block::on_events(std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLHUP | EPOLLERR;
  if ((events & (EPOLLRDHUP | kEnd)) != 0) has_ended_ = true;
  if ((events & kEnd) != 0) has_hung_up_ = true;
  if ((events & (EPOLLOUT | kEnd)) != 0) ready_[index_of(Direction::write)] = true;
  if ((events & (EPOLLIN | EPOLLRDHUP | kEnd)) != 0) {
    ready_[index_of(Direction::read)] = true;
    call(Direction::read);
  }
  if (ready_[index_of(Direction::write)]) call(Direction::write);
}

void ReadySocket::Block::on_soon() {
  for (const Direction direction : {Direction::read, Direction::write}) {
    if (std::exchange(soon_[index_of(direction)], false)) call(direction);
  }
}

void ReadySocket::Block::call(Direction direction) {
  struct Held {  // For the call: who waits again is waited for without a gap.
    explicit Held(Poller& ours) : poller(ours) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { poller.release(); }
    Poller& poller;
  };
  const Waiters waiters = std::exchange(waiters_[index_of(direction)], {});
  if (!waiters.any()) return;
  const Held held(poller_);
  soon_[index_of(direction)] = false;
  if (waiters.to_read != nullptr) waiters.to_read->on_readable();
  // The first call may have closed it; then the second waiter is gone, too.
  if (waiters.to_write != nullptr && fd_ >= 0) waiters.to_write->on_writable();
}

void ReadySocket::Block::close() noexcept {
  for (Waiters& waiters : waiters_) {
    if (std::exchange(waiters, {}).any()) poller_.release();
  }
  poller_.remove(fd_, *this);
  (void)::close(std::exchange(fd_, -1));
}

ReadySocket::ReadySocket(boost::asio::io_context& context, int fd)
    : block_(std::make_unique<Block>(context, fd)), fd_(fd) {
  int yes = 1;
  (void)::ioctl(fd_, FIONBIO, &yes);
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  set_send_patience(kSendPatience);
}

ReadySocket::ReadySocket(Socket socket)
    : ReadySocket(socket.get_executor().context(), socket.release()) {}

void ReadySocket::set_send_patience(Duration patience) noexcept {
  if (fd_ < 0) return;
  const auto ms = static_cast<unsigned>(std::clamp<std::int64_t>(
      patience / std::chrono::milliseconds(1), 1, std::numeric_limits<int>::max()));
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

ReadySocket::~ReadySocket() {
  close(false);
  Poller& poller = block_->poller();
  poller.retire(std::move(block_));
}

Transport::Moved ReadySocket::recv(std::span<char> into) noexcept {
  for (;;) {
    const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      if (bytes < into.size()) block_->on_short_read();
      return {Transport::Status::ok, bytes};
    }
    if (got == 0) {
      const bool again = std::exchange(ended_, true);
      if (again || !block_->has_hung_up()) block_->on_exhausted(Direction::read);
      return {again && is_broken() ? Transport::Status::failed : Transport::Status::end, 0};
    }
    if (errno == EINTR) continue;
    return refused(Direction::read);
  }
}

// After an end only a reset can follow, which reading does not tell.
bool ReadySocket::is_broken() const noexcept {
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
}

Transport::Moved ReadySocket::send(std::string_view bytes) noexcept {
  for (;;) {
    const ssize_t put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) return {Transport::Status::ok, static_cast<std::size_t>(put)};
    if (errno == EINTR) continue;
    return refused(Direction::write);
  }
}

// What errno says of a read or a write.
Transport::Moved ReadySocket::refused(Direction direction) noexcept {
  if (errno != EAGAIN && errno != EWOULDBLOCK) return {Transport::Status::failed, 0};
  block_->on_exhausted(direction);
  return {Transport::Status::again, 0};
}

void ReadySocket::wait(Direction wait, Direction then, Transport::Waiter& waiter) {
  DAMPER_CHECK(fd_ >= 0);
  block_->wait(wait, then, waiter, false);
}

void ReadySocket::call_soon(Transport::Waiter& waiter) {
  DAMPER_CHECK(fd_ >= 0);
  block_->wait(Direction::read, Direction::read, waiter, true);
}

void ReadySocket::shut_down_send() noexcept {
  if (fd_ >= 0) (void)::shutdown(fd_, SHUT_WR);
}

void ReadySocket::close(bool reset) noexcept {
  if (fd_ < 0) return;
  if (reset) {
    const ::linger now{.l_onoff = 1, .l_linger = 0};
    (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }
  fd_ = -1;
  block_->close();
}

std::string ReadySocket::peer() const {
  boost::asio::ip::tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (::getpeername(fd_, endpoint.data(), &size) != 0) return {};
  endpoint.resize(size);
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

}  // namespace damper::http
