#ifndef DAMPER_HTTP_NET_READY_SOCKET_H_
#define DAMPER_HTTP_NET_READY_SOCKET_H_

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A TCP socket of a loop. The executor's type is named: a type-erased one costs each wait.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// A ReadySocket is a connected, non-blocking socket that is waited for with Asio and read and
// written with recv and send: what both transports have in common.
//
// Why: Asio's own reads and writes need a buffer for as long as they wait. Here a connection that
// waits has none.
// Model: the socket and the memory of two waits, one for each direction, live in a block that the
// waits under way share. So the ReadySocket may go at any time; the block goes when Asio has given
// the last wait back.
// Invariants:
//   (1) After close(), or without the ReadySocket, no waiter is called.
//   (2) A waiter is called once for each wait; asking again before is asking once.
// Thread safety: none.
// Cost: no allocation for a wait; one for the socket.
class ReadySocket {
 public:
  enum class Direction : std::uint8_t { read, write };
  static constexpr Duration kSendPatience = std::chrono::seconds(30);

  // Makes it non-blocking and sets TCP_NODELAY; what it sends is waited for kSendPatience.
  explicit ReadySocket(Socket socket);
  ReadySocket(const ReadySocket&) = delete;
  ReadySocket& operator=(const ReadySocket&) = delete;
  ~ReadySocket();

  [[nodiscard]] Transport::Moved recv(std::span<char> into) noexcept;
  [[nodiscard]] Transport::Moved send(std::string_view bytes) noexcept;
  // Waits until the socket is ready for `wait`, and then calls on_readable() or on_writable(), as
  // `then` says. They differ when TLS must write in order to read.
  void wait(Direction wait, Direction then, Transport::Waiter& waiter);
  // As wait(read, read), without looking at the socket: there is something to read already.
  void call_soon(Transport::Waiter& waiter);
  // TCP_USER_TIMEOUT: the kernel gives the connection up when so long nothing of what was sent has
  // been acknowledged, or taken: the peer, or the way to it, is gone.
  void set_send_patience(Duration patience) noexcept;
  void shut_down_send() noexcept;
  void close(bool reset) noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }  // -1 once closed
  [[nodiscard]] std::string peer() const;

 private:
  class Block;

  Block* block_;
  int fd_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_READY_SOCKET_H_
