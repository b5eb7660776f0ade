#ifndef DAMPER_HTTP_NET_TLS_TRANSPORT_H_
#define DAMPER_HTTP_NET_TLS_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/net/ready_socket.h"
#include "damper/http/net/tls_settings.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A TlsTransport is TLS on a TCP connection.
//
// Why not Asio's ssl::stream: it copies through two buffers of its own for each connection.
// Model: OpenSSL reads and writes the socket itself, through recv and send. It may have to write in
// order to read, and the other way round: the waits follow what it last said.
// Invariants:
//   (1) protocol(), and data, only after a handshake that succeeded.
//   (2) After a failure it is of no more use: every call fails.
// Thread safety: none.
// Cost: OpenSSL's state, some KiB; no buffers while nothing is under way.
class TlsTransport final : public Transport {
 public:
  // The server's side.
  TlsTransport(Socket socket, const TlsSettings& settings);
  // The client's side. `host`: whom the certificate must stand for, a name or an address without
  // brackets; a name is sent along (SNI).
  TlsTransport(Socket socket, const TlsSettings& settings, const std::string& host);
  ~TlsTransport() override;

  Status try_handshake() override;
  Moved recv(std::span<char> into) override;
  Moved send(std::string_view bytes) override;
  void wait_readable(Waiter& waiter) override;
  void wait_writable(Waiter& waiter) override;
  void set_send_patience(Duration patience) noexcept override {
    socket_.set_send_patience(patience);
  }
  void shut_down_send() noexcept override;
  void close(bool reset) noexcept override;
  [[nodiscard]] Protocol protocol() const noexcept override;
  [[nodiscard]] bool is_secure() const noexcept override { return true; }
  [[nodiscard]] std::string peer() const override { return socket_.peer(); }
  // Why it failed, in OpenSSL's words; empty when it did not.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  using Direction = ReadySocket::Direction;
  struct Free {
    void operator()(ssl_st* tls) const noexcept;
  };

  // What a call that returned `result` has come to; `waits_for` is what the next one waits for.
  [[nodiscard]] Status look(int result, Direction& waits_for);

  ReadySocket socket_;
  std::unique_ptr<ssl_st, Free> tls_;
  Direction to_read_ = Direction::read;    // what reading waits for
  Direction to_write_ = Direction::write;  // what writing waits for
  bool is_starved_ = false;                // what was read ahead is not enough to go on
  bool usable_ = true;
  std::string error_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_TLS_TRANSPORT_H_
