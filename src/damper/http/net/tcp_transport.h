#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "damper/http/net/ready_socket.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A TcpTransport is a plain TCP connection.
//
// Thread safety: none. Cost: no allocation beside its own.
class TcpTransport final : public Transport {
 public:
  // Owns `fd`. REQUIRES: it is connected and non-blocking.
  TcpTransport(Loop& loop, int fd) : socket_(loop, fd) {}

  Status try_handshake() override { return Status::ok; }
  Moved recv(std::span<char> into) override { return socket_.recv(into); }
  Moved send(std::string_view bytes) override { return socket_.send(bytes); }
  void wait_readable(Waiter& waiter) override {
    socket_.wait(ReadySocket::Direction::read, ReadySocket::Direction::read, waiter);
  }
  void wait_writable(Waiter& waiter) override {
    socket_.wait(ReadySocket::Direction::write, ReadySocket::Direction::write, waiter);
  }
  void set_send_timeout(Duration timeout) noexcept override { socket_.set_send_timeout(timeout); }
  void shut_down_send() noexcept override { socket_.shut_down_send(); }
  void close(bool reset) noexcept override { socket_.close(reset); }
  [[nodiscard]] Protocol protocol() const noexcept override { return Protocol::unknown; }
  [[nodiscard]] bool is_secure() const noexcept override { return false; }
  [[nodiscard]] std::string peer() const override { return socket_.peer(); }

 private:
  ReadySocket socket_;
};

}  // namespace damper::http
