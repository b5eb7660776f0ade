#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/net/tcp_transport.h"
#include "damper/http/tls/tls_settings.h"

struct ssl_session_st;

namespace damper::http {

// A TlsTransport is TLS on a TCP connection.
//
// Why not Asio's ssl::stream: it copies through two buffers of its own for each connection.
// Model: OpenSSL reads and writes the socket itself, through recv and send. It may have to write in
// order to read, and the other way round: a wait is for the direction that its last call requested.
// Invariants:
//   (1) protocol() and data are available only after a successful handshake.
//   (2) After a failure every call fails.
// Thread safety: none.
// Cost: OpenSSL's state, some KiB; no buffers while the connection is idle.
class TlsTransport final : public TcpTransport {
 public:
  // The server's side. Owns `fd`. REQUIRES: it is connected and non-blocking.
  TlsTransport(Loop& loop, int fd, const TlsSettings& settings);
  // The client's side. The certificate must be valid for `host` (or the settings' server_name), a
  // name or an address without brackets; a name is also sent as SNI. A kept session of this host at
  // this address is resumed.
  TlsTransport(Loop& loop, int fd, const TlsSettings& settings, const std::string& host);
  ~TlsTransport() override;

  Status try_handshake() override;
  IoResult recv(std::span<char> into) override;
  IoResult send(std::string_view bytes) override;
  void wait_readable(Waiter& waiter) override;
  void wait_writable(Waiter& waiter) override;
  void shut_down_send() noexcept override;
  void close(bool reset) noexcept override;
  [[nodiscard]] Protocol protocol() const noexcept override;
  [[nodiscard]] bool is_secure() const noexcept override { return true; }
  [[nodiscard]] std::string peer_certificate() const override;
  // Whether the handshake resumed a session.
  [[nodiscard]] bool is_resumed() const noexcept;
  // OpenSSL's description of the failure; empty without one.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  // For the settings' callback: keeps a session of a client's connection; false: it has no cache.
  [[nodiscard]] static bool try_keep_session(ssl_st* tls, ssl_session_st* session);

 private:
  struct Free {
    void operator()(ssl_st* tls) const noexcept;
  };

  // The status of an OpenSSL call that returned `result`; sets the direction to wait for.
  [[nodiscard]] Status status_of(int result, Direction& waits_for);

  std::unique_ptr<ssl_st, Free> tls_;
  Direction to_read_ = Direction::read;    // a read waits for it
  Direction to_write_ = Direction::write;  // a write waits for it
  bool is_starved_ = false;                // OpenSSL's buffered input is less than a record
  bool usable_ = true;
  std::string error_;
  std::shared_ptr<SessionCache> sessions_;  // of a client
  std::string session_peer_;                // its key there
};

}  // namespace damper::http
