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

// A ReadySocket is a connected, non-blocking TCP socket of a loop: what both transports share.
//
// Model: the kernel reports each change once (edge-triggered). The socket remembers whether more
// may be pending, from the last read or write and from the peer's half-close. A wait is then
// answered at the end of the turn; else at the next change.
// Invariants:
//   (1) After close(), or after the ReadySocket was destroyed, no waiter is called.
//   (2) A waiter is called once for each wait; to wait again before that has no effect.
//   (3) No lost wake-ups: a waiter is called if data, EOF or a reset is pending, no matter whether
//       it arrived before, during or after the previous read.
// Thread safety: none.
// Cost: no allocation; an epoll_ctl when it is made and one when it is closed.
class ReadySocket final : private Loop::Registration, private Loop::TurnEnd {
 public:
  enum class Direction : std::uint8_t { read, write };
  static constexpr Duration kSendTimeout = std::chrono::seconds(30);

  // Owns `fd` from here on, and sets TCP_NODELAY and kSendTimeout. REQUIRES: it is connected and
  // non-blocking.
  ReadySocket(Loop& loop, int fd);
  ~ReadySocket() override;

  // A read after EOF returns EOF again, or `failed` if a reset has followed.
  [[nodiscard]] Transport::Moved recv(std::span<char> into) noexcept;
  [[nodiscard]] Transport::Moved send(std::string_view bytes) noexcept;
  // Waits until the socket is ready for `wait`, then calls on_readable() or on_writable(), as
  // `then` says. They differ if TLS must write in order to read.
  void wait(Direction wait, Direction then, Transport::Waiter& waiter);
  // As wait(read, read), for input that is buffered already.
  void call_soon(Transport::Waiter& waiter);
  // TCP_USER_TIMEOUT: the kernel closes the connection if sent data stays unacknowledged, or the
  // peer's window closed, for this long.
  void set_send_timeout(Duration timeout) noexcept;
  void shut_down_send() noexcept;
  void close(bool reset) noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }  // -1 once closed
  [[nodiscard]] std::string peer() const;

 private:
  // Of one direction's readiness: the waiter that reads next, and the one that writes next.
  struct Waiters {
    Transport::Waiter* to_read = nullptr;
    Transport::Waiter* to_write = nullptr;
    [[nodiscard]] bool any() const noexcept { return to_read != nullptr || to_write != nullptr; }
  };

  void on_events(std::uint32_t events) override;
  void on_turn_end() override;
  void wait(Direction wait, Direction then, Transport::Waiter& waiter, bool soon);
  void call_waiters(const std::array<bool, 2>& directions);
  [[nodiscard]] bool is_broken() const noexcept;
  [[nodiscard]] Transport::Moved refused(Direction direction) noexcept;

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
