#include "damper/http/net/ready_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/detail/reactor_op.hpp>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {

using Direction = ReadySocket::Direction;

namespace {

namespace detail = boost::asio::detail;

constexpr std::size_t index_of(Direction direction) { return static_cast<std::size_t>(direction); }

bool leaves_nothing(const msghdr& message) noexcept {
  const cmsghdr* const told = CMSG_FIRSTHDR(&message);
  if (told == nullptr || told->cmsg_level != SOL_TCP || told->cmsg_type != TCP_CM_INQ) return false;
  int rest = 0;
  std::memcpy(&rest, CMSG_DATA(told), sizeof(rest));
  return rest == 0;
}

}  // namespace

// What a socket and the waits under way share.
class ReadySocket::Block {
 public:
  Block(boost::asio::io_context& context, int fd)
      : reactor_(boost::asio::use_service<detail::reactor>(context)),
        fd_(fd),
        waits_{Wait(*this, Direction::read), Wait(*this, Direction::write)} {
    reactor_.init_task();
    // Without a place in the reactor nobody would ever hear of it: then it is ready, for its end.
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): the reactor has to run first.
    registered_ = reactor_.register_descriptor(fd, place_) == 0;
    if (!registered_) (void)::shutdown(fd, SHUT_RDWR);
  }

  void drop_user() noexcept {
    if (--users_ == 0) delete this;
  }
  void wait(Direction wait, Direction then, Transport::Waiter& waiter);
  void call_soon(Transport::Waiter& waiter);
  // Nothing is to be had in this direction until the socket says so again.
  void on_exhausted(Direction direction) noexcept { ready_[index_of(direction)] = false; }
  void look_again() noexcept { ready_[index_of(Direction::read)] = true; }
  void close() noexcept;

 private:
  // One wait, in the reactor's list or on its way back from it.
  class Wait : public detail::reactor_op {
   public:
    Wait(Block& block, Direction direction) noexcept
        : reactor_op({}, &Wait::perform, &Wait::complete), block_(block), direction_(direction) {}

   private:
    static status perform(reactor_op*) { return done_and_exhausted; }
    static void complete(void* owner, detail::operation* base, const boost::system::error_code&,
                         std::size_t) {
      Wait& wait = *static_cast<Wait*>(base);
      Block& block = wait.block_;
      if (owner != nullptr) block.on_ready(wait.direction_);  // Else the loop has ended.
      block.drop_user();
    }

    Block& block_;
    Direction direction_;
  };

  // Who waits for a direction, to go on reading and to go on writing.
  struct Waiters {
    Transport::Waiter* to_read = nullptr;
    Transport::Waiter* to_write = nullptr;
  };

  void begin(Direction direction, bool soon);
  void on_ready(Direction direction) {
    const std::size_t index = index_of(direction);
    under_way_[index] = false;
    ready_[index] = true;
    const Waiters waiters = std::exchange(waiters_[index], {});
    if (waiters.to_read != nullptr) waiters.to_read->on_readable();
    // The first call may have closed it; then the second waiter is gone, too.
    if (waiters.to_write != nullptr && fd_ >= 0) waiters.to_write->on_writable();
  }

  detail::reactor& reactor_;
  detail::reactor::per_descriptor_data place_{};
  int fd_;
  std::uint32_t users_ = 1;
  bool registered_ = false;
  std::array<bool, 2> ready_{true, true};  // as far as is known
  std::array<bool, 2> under_way_{};
  std::array<Waiters, 2> waiters_{};
  std::array<Wait, 2> waits_;
};

void ReadySocket::Block::begin(Direction direction, bool soon) {
  const std::size_t index = index_of(direction);
  if (std::exchange(under_way_[index], true)) return;
  ++users_;
  if (soon || ready_[index] || !registered_) {
    reactor_.post_immediate_completion(&waits_[index], true);
  } else {
    const int kind =
        direction == Direction::read ? detail::reactor::read_op : detail::reactor::write_op;
    // "Speculative": at once, if the reactor has heard of something that nobody waited for.
    reactor_.start_op(kind, fd_, place_, &waits_[index], true, true);
  }
}

void ReadySocket::Block::wait(Direction wait, Direction then, Transport::Waiter& waiter) {
  Waiters& waiters = waiters_[index_of(wait)];
  (then == Direction::read ? waiters.to_read : waiters.to_write) = &waiter;
  begin(wait, false);
}

void ReadySocket::Block::call_soon(Transport::Waiter& waiter) {
  waiters_[index_of(Direction::read)].to_read = &waiter;
  begin(Direction::read, true);
}

void ReadySocket::Block::close() noexcept {
  waiters_ = {};
  reactor_.deregister_descriptor(fd_, place_, true);  // Gives the waits back.
  (void)::close(std::exchange(fd_, -1));
  reactor_.cleanup_descriptor_data(place_);
}

ReadySocket::ReadySocket(boost::asio::io_context& context, int fd)
    : block_(new Block(context, fd)), fd_(fd) {
  int yes = 1;
  (void)::ioctl(fd_, FIONBIO, &yes);
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  tells_rest_ = ::setsockopt(fd_, IPPROTO_TCP, TCP_INQ, &yes, sizeof(yes)) == 0;
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
  block_->drop_user();
}

// With TCP_INQ the kernel says what is left after a read, and 1 when only the end is: so a read
// that leaves nothing needs no second one to know it.
Transport::Moved ReadySocket::recv(std::span<char> into) noexcept {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  iovec bytes{.iov_base = into.data(), .iov_len = into.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (tells_rest_) message.msg_control = control.data();
  for (;;) {
    message.msg_controllen = tells_rest_ ? control.size() : 0;
    const ssize_t got = ::recvmsg(fd_, &message, 0);
    if (got > 0) {
      if (tells_rest_ && leaves_nothing(message)) block_->on_exhausted(Direction::read);
      return {Transport::Status::ok, static_cast<std::size_t>(got)};
    }
    if (got == 0) return {Transport::Status::end, 0};
    if (errno == EINTR) continue;
    return refused(Direction::read);
  }
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
  block_->wait(wait, then, waiter);
}

void ReadySocket::call_soon(Transport::Waiter& waiter) {
  DAMPER_CHECK(fd_ >= 0);
  block_->call_soon(waiter);
}

void ReadySocket::look_again() noexcept { block_->look_again(); }

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
