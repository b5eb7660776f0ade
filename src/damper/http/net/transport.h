#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/codec/connection.h"

namespace damper::http {

// The peer() of a Unix socket: clients have no address there.
inline constexpr std::string_view kUnixPeer = "unix:";

// A Transport reads and writes the bytes of one connection, plain TCP or TLS, and never blocks:
// recv and send are tried at once, and a caller waits for readiness only after `again`.
//
// Thread safety: none; all on the loop's thread.
class Transport {
 public:
  enum class Status : std::uint8_t { ok, again, end, failed };
  struct IoResult {
    Status status = Status::ok;
    std::size_t bytes = 0;  // with ok
  };

  // Called when a read or write may succeed: once for each wait.
  class Waiter {
   public:
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;

   protected:
    ~Waiter() = default;
  };

  virtual ~Transport() = default;
  // The next step of the TLS handshake. After `again`: wait_readable(), also if TLS waits for
  // writability, then call it again. `end`: the peer has closed it without a byte. Plain TCP has no
  // handshake: ok.
  [[nodiscard]] virtual Status try_handshake() = 0;
  [[nodiscard]] virtual IoResult recv(std::span<char> into) = 0;
  [[nodiscard]] virtual IoResult send(std::string_view bytes) = 0;
  virtual void wait_readable(Waiter& waiter) = 0;
  virtual void wait_writable(Waiter& waiter) = 0;
  // How long sent data may stay unacknowledged: see TcpTransport.
  virtual void set_send_timeout(Duration timeout) noexcept = 0;
  // Half-close: nothing more is sent; input is still received.
  virtual void shut_down_send() noexcept = 0;
  // Cancels the waits (no waiter is called after this) and closes the socket; with `reset` by RST.
  virtual void close(bool reset = false) noexcept = 0;
  // The protocol that ALPN selected; unknown for plain TCP.
  [[nodiscard]] virtual Protocol protocol() const noexcept = 0;
  [[nodiscard]] virtual bool is_secure() const noexcept = 0;  // TLS
  [[nodiscard]] virtual std::string peer() const = 0;         // "127.0.0.1:8080", or kUnixPeer
  // See describe_peer_certificate(). Empty without TLS.
  [[nodiscard]] virtual std::string peer_certificate() const { return {}; }
};

// The peer() without its port and brackets.
[[nodiscard]] std::string peer_address(const Transport& transport);

}  // namespace damper::http
