#ifndef DAMPER_HTTP_NET_READY_SOCKET_H_
#define DAMPER_HTTP_NET_READY_SOCKET_H_

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A TCP socket of a loop. The executor's type is named: a type-erased one costs each wait.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// A ReadySocket is a connected, non-blocking socket that is waited for with the context's Poller
// and read and written with system calls of its own: what both transports have in common.
//
// Why: Asio's own reads and writes need a buffer for as long as they wait. Here a connection that
// waits has none.
// Model: the kernel tells of a change once (edge-triggered). Whether there may be something left is
// known from the last read or write, and from whether the peer has ended: who waits is called soon
// if there may be, else at the next change.
// Invariants:
//   (1) After close(), or without the ReadySocket, no waiter is called.
//   (2) A waiter is called once for each wait; asking again before is asking once.
//   (3) Who waits is called when there is something, also when it came, or the peer's end or reset
//       did, before the wait, in the same moment as what was read, or while nobody read.
// Thread safety: none.
// Cost: no allocation for a wait; one for the socket.
class ReadySocket {
 public:
  enum class Direction : std::uint8_t { read, write };
  static constexpr Duration kSendPatience = std::chrono::seconds(30);

  // Makes it non-blocking and sets TCP_NODELAY; what it sends is waited for kSendPatience.
  ReadySocket(boost::asio::io_context& context, int fd);  // Takes it over.
  explicit ReadySocket(Socket socket);
  ReadySocket(const ReadySocket&) = delete;
  ReadySocket& operator=(const ReadySocket&) = delete;
  ~ReadySocket();

  // Who reads again after the end hears it again, or that a reset followed.
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

  [[nodiscard]] bool is_broken() const noexcept;
  [[nodiscard]] Transport::Moved refused(Direction direction) noexcept;

  std::unique_ptr<Block> block_;
  int fd_;
  bool ended_ = false;  // The peer's end was read.
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_READY_SOCKET_H_
