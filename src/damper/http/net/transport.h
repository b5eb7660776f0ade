#ifndef DAMPER_HTTP_NET_TRANSPORT_H_
#define DAMPER_HTTP_NET_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/codec/connection.h"

namespace damper::http {

// A Transport moves bytes of one connection, plain TCP or TLS, without ever waiting: recv and send
// are tried at once, and readiness is waited for only when they could do nothing.
//
// Thread safety: none; all on the loop's thread.
class Transport {
 public:
  enum class Status : std::uint8_t { ok, again, end, failed };
  struct Moved {
    Status status = Status::ok;
    std::size_t bytes = 0;  // with ok
  };

  // Told when it may go on. Each comes once for each wait.
  class Waiter {
   public:
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;

   protected:
    ~Waiter() = default;
  };

  virtual ~Transport() = default;
  // TLS: the next step of the handshake; `again`: wait_readable(), then ask again, whatever the
  // direction that TLS waits for. Plain TCP has none: ok.
  [[nodiscard]] virtual Status try_handshake() = 0;
  [[nodiscard]] virtual Moved recv(std::span<char> into) = 0;
  [[nodiscard]] virtual Moved send(std::string_view bytes) = 0;
  virtual void wait_readable(Waiter& waiter) = 0;
  virtual void wait_writable(Waiter& waiter) = 0;
  // How long what was sent may go unacknowledged: see ReadySocket.
  virtual void set_send_patience(Duration patience) noexcept = 0;
  // We will send no more; what comes is still received.
  virtual void shut_down_send() noexcept = 0;
  // Forgets the waits (no call comes after this) and closes the socket. `reset`: so that the peer
  // sees RST at once.
  virtual void close(bool reset = false) noexcept = 0;
  // What ALPN agreed on; unknown for plain TCP.
  [[nodiscard]] virtual Protocol protocol() const noexcept = 0;
  [[nodiscard]] virtual bool is_secure() const noexcept = 0;  // TLS
  [[nodiscard]] virtual std::string peer() const = 0;         // "127.0.0.1:8080"
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_TRANSPORT_H_
