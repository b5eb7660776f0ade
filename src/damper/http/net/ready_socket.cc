#include "damper/http/net/ready_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {

using Direction = ReadySocket::Direction;

// What a socket and the waits under way share.
class ReadySocket::Block {
 public:
  explicit Block(Socket socket) : socket_(std::move(socket)) {}

  void add_user() noexcept { ++users_; }
  void drop_user() noexcept {
    if (--users_ == 0) delete this;
  }

  [[nodiscard]] Socket& socket() noexcept { return socket_; }
  void wait(Direction wait, Direction then, Transport::Waiter& waiter);
  void call_soon(Transport::Waiter& waiter);
  void forget() noexcept { waiters_ = {}; }

 private:
  // Memory of one wait of Asio's; a larger one, of another version, is allocated.
  struct Place {
    static constexpr std::size_t kBytes = 96;
    alignas(std::max_align_t) std::array<std::byte, kBytes> bytes;
    bool taken = false;
  };

  // Hands a wait its place. Asio gives the memory back before it calls the handler.
  template <class T>
  struct PlaceAllocator {
    using value_type = T;
    explicit PlaceAllocator(Place& at) noexcept : place(&at) {}
    template <class U>
    PlaceAllocator(const PlaceAllocator<U>& other) noexcept : place(other.place) {}
    T* allocate(std::size_t count) {
      if (sizeof(T) > Place::kBytes || count != 1 || place->taken) {
        return static_cast<T*>(::operator new(count * sizeof(T)));
      }
      place->taken = true;
      return reinterpret_cast<T*>(place->bytes.data());
    }
    void deallocate(T* memory, std::size_t) noexcept {
      if (reinterpret_cast<std::byte*>(memory) == place->bytes.data()) {
        place->taken = false;
      } else {
        ::operator delete(memory);
      }
    }
    bool operator==(const PlaceAllocator&) const = default;
    Place* place;
  };

  // The handler: keeps the block while Asio has it.
  class Wake {
   public:
    using allocator_type = PlaceAllocator<Wake>;
    Wake(Block& block, Direction direction) noexcept : block_(&block), direction_(direction) {
      block.add_user();
    }
    Wake(Wake&& other) noexcept
        : block_(std::exchange(other.block_, nullptr)), direction_(other.direction_) {}
    Wake& operator=(Wake&&) = delete;
    ~Wake() {
      if (block_ != nullptr) block_->drop_user();
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return allocator_type(block_->places_[static_cast<std::size_t>(direction_)]);
    }
    void operator()(const boost::system::error_code&) { block_->on_ready(direction_); }

   private:
    Block* block_;
    Direction direction_;
  };

  // Who waits for a direction, to go on reading and to go on writing.
  struct Waiters {
    Transport::Waiter* to_read = nullptr;
    Transport::Waiter* to_write = nullptr;
  };

  void on_ready(Direction direction) {
    const auto index = static_cast<std::size_t>(direction);
    under_way_[index] = false;
    const Waiters waiters = std::exchange(waiters_[index], {});
    if (waiters.to_read != nullptr) waiters.to_read->on_readable();
    // The first call may have closed it; then the second waiter is gone, too.
    if (waiters.to_write != nullptr && socket_.is_open()) waiters.to_write->on_writable();
  }

  Socket socket_;
  std::size_t users_ = 1;
  std::array<Waiters, 2> waiters_{};
  std::array<bool, 2> under_way_{};
  std::array<Place, 2> places_;
};

void ReadySocket::Block::wait(Direction wait, Direction then, Transport::Waiter& waiter) {
  const auto index = static_cast<std::size_t>(wait);
  (then == Direction::read ? waiters_[index].to_read : waiters_[index].to_write) = &waiter;
  if (std::exchange(under_way_[index], true)) return;
  socket_.async_wait(wait == Direction::read ? Socket::wait_read : Socket::wait_write,
                     Wake(*this, wait));
}

void ReadySocket::Block::call_soon(Transport::Waiter& waiter) {
  const auto index = static_cast<std::size_t>(Direction::read);
  waiters_[index].to_read = &waiter;
  if (std::exchange(under_way_[index], true)) return;
  boost::asio::post(socket_.get_executor(), [wake = Wake(*this, Direction::read)]() mutable {
    wake(boost::system::error_code());
  });
}

ReadySocket::ReadySocket(Socket socket)
    : block_(new Block(std::move(socket))), fd_(block_->socket().native_handle()) {
  boost::system::error_code ignored;  // A socket that broke meanwhile says so when it is read.
  block_->socket().non_blocking(true, ignored);
  const int yes = 1;
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  set_send_patience(kSendPatience);
}

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

Transport::Moved ReadySocket::recv(std::span<char> into) noexcept {
  for (;;) {
    const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
    if (got > 0) return {Transport::Status::ok, static_cast<std::size_t>(got)};
    if (got == 0) return {Transport::Status::end, 0};
    if (errno == EINTR) continue;
    const bool again = errno == EAGAIN || errno == EWOULDBLOCK;
    return {again ? Transport::Status::again : Transport::Status::failed, 0};
  }
}

Transport::Moved ReadySocket::send(std::string_view bytes) noexcept {
  for (;;) {
    const ssize_t put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) return {Transport::Status::ok, static_cast<std::size_t>(put)};
    if (errno == EINTR) continue;
    const bool again = errno == EAGAIN || errno == EWOULDBLOCK;
    return {again ? Transport::Status::again : Transport::Status::failed, 0};
  }
}

void ReadySocket::wait(Direction wait, Direction then, Transport::Waiter& waiter) {
  DAMPER_CHECK(fd_ >= 0);
  block_->wait(wait, then, waiter);
}

void ReadySocket::call_soon(Transport::Waiter& waiter) {
  DAMPER_CHECK(fd_ >= 0);
  block_->call_soon(waiter);
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
  block_->forget();
  boost::system::error_code ignored;
  block_->socket().close(ignored);
}

std::string ReadySocket::peer() const {
  boost::system::error_code failed;
  const auto endpoint = block_->socket().remote_endpoint(failed);
  if (failed) return {};
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

}  // namespace damper::http
