#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A TcpTransport is a plain TCP connection of a loop: a connected, non-blocking socket. TLS is on
// top of it.
//
// Model: the kernel reports each change once (edge-triggered). The socket remembers whether more
// may be pending, from the last read or write and from the peer's half-close. A wait is then
// answered at the end of the turn; else at the next change.
// Invariants:
//   (1) After close(), or after the TcpTransport was destroyed, no waiter is called.
//   (2) A waiter is called once for each wait; to wait again before that has no effect.
//   (3) No lost wake-ups: a waiter is called if data, EOF or a reset is pending, no matter whether
//       it arrived before, during or after the previous read.
// Thread safety: none.
// Cost: no allocation; an epoll_ctl when it is made and one when it is closed.
class TcpTransport : public Transport, private Loop::Registration, private Loop::TurnEnd {
 public:
  static constexpr Duration kSendTimeout = std::chrono::seconds(30);

  // Owns `fd` from here on, and sets TCP_NODELAY and kSendTimeout. REQUIRES: it is connected and
  // non-blocking.
  TcpTransport(Loop& loop, int fd);
  ~TcpTransport() override;

  Status try_handshake() override { return Status::ok; }
  // A read after EOF returns EOF again, or `failed` if a reset has followed.
  IoResult recv(std::span<char> into) override;
  // As recv(), and the bytes stay for the next one.
  IoResult peek(std::span<char> into);
  IoResult send(std::string_view bytes) override;
  void wait_readable(Waiter& waiter) override { wait(Direction::read, Direction::read, waiter); }
  void wait_writable(Waiter& waiter) override { wait(Direction::write, Direction::write, waiter); }
  // TCP_USER_TIMEOUT: the kernel closes the connection if sent data stays unacknowledged, or the
  // peer's window closed, for this long.
  void set_send_timeout(Duration timeout) noexcept override;
  void shut_down_send() noexcept override;
  void close(bool reset) noexcept override;
  [[nodiscard]] Protocol protocol() const noexcept override { return Protocol::unknown; }
  [[nodiscard]] bool is_secure() const noexcept override { return false; }
  [[nodiscard]] std::string peer() const override;
  [[nodiscard]] int fd() const noexcept { return fd_; }  // -1 once closed
  // Cancels the waits as close() does and gives the socket to the caller.
  [[nodiscard]] int release() noexcept;

 protected:
  enum class Direction : std::uint8_t { read, write };

  // Waits until the socket is ready for `wait`, then calls on_readable() or on_writable(), as
  // `then` says. They differ if TLS must write in order to read. `soon`: at the end of the turn,
  // for input that is buffered already.
  void wait(Direction wait, Direction then, Waiter& waiter, bool soon = false);

 private:
  // Of one direction's readiness: the waiter that reads next, and the one that writes next.
  struct Waiters {
    Waiter* to_read = nullptr;
    Waiter* to_write = nullptr;
    [[nodiscard]] bool any() const noexcept { return to_read != nullptr || to_write != nullptr; }
  };

  void on_events(std::uint32_t events) override;
  void on_turn_end() override;
  void call_waiters(const std::array<bool, 2>& directions);
  [[nodiscard]] bool is_broken() const noexcept;
  [[nodiscard]] IoResult refused(Direction direction) noexcept;

  int fd_;
  bool is_registered_;
  bool eof_read_ = false;
  bool has_half_closed_ = false;            // the peer
  bool has_hung_up_ = false;                // both directions are closed: a reset, perhaps
  std::array<bool, 2> ready_{false, true};  // may have something pending, by Direction
  std::array<bool, 2> soon_{};              // to be called at the end of the turn
  std::array<Waiters, 2> waiters_{};
};

}  // namespace damper::http
