#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A SocketConnection does the I/O of one connection: it joins a codec, a transport and a loop, for
// servers and clients.
//
//   auto connection = std::make_unique<SocketConnection>(loop, std::move(transport), owner, side);
//   connection->start(make_h1_server(limits, *connection, sink, loop.now()));
//
// Model: input is read into the loop's scratch memory and passed to the codec. Output of a turn is
// sent at the turn's end, in one send if the kernel takes it; the connection waits for writability
// only if it did not. One timer is armed at the codec's deadline.
// Half-close: when a tunnel's codec has ended its output and all of it is sent, the sending
// direction is shut down and input is still read. If such a tunnel is aborted, the connection is
// reset at the end: EOF was sent already.
// A client whose send fails first reads the pending input: it may be the answer, such as an early
// 413 (plain TCP only: OpenSSL reads nothing after a failed write).
// A server that closes while the peer may still be sending lingers: it shuts down its sending
// direction and reads and discards input, for at most a second and a MiB. Otherwise the kernel
// would reset the connection, and the peer could lose the last answer.
// Invariants:
//   (1) on_closed() is called once, at the end of a turn, after the socket is closed and every
//       stream's user got on_close(). The connection is not used afterwards.
//   (2) Nothing is read while the codec does not want input.
// Thread safety: none; all on the loop's thread.
// Cost: some 150 bytes beside codec and transport, and no buffer.
class SocketConnection final : public ConnectionOwner,
                               private Transport::Waiter,
                               private Loop::Timer,
                               private Loop::TurnEnd {
 public:
  enum class Side : std::uint8_t { server, client };

  class Owner {
   public:
    // The connection may be destroyed from here on, also from within the call.
    virtual void on_closed(SocketConnection& connection, CloseReason reason) = 0;
    // Client side: can_open() or is_over() may have changed. At the end of a turn, not after
    // on_closed().
    virtual void on_turned(SocketConnection&) {}

   protected:
    ~Owner() = default;
  };

  // REQUIRES: the transport's handshake is done. The owner outlives this.
  SocketConnection(Loop& loop, std::unique_ptr<Transport> transport, Owner& owner, Side side);
  // Closes the socket if it is still open; its streams close with `cancelled`.
  ~SocketConnection() override;

  // REQUIRES: the codec was made with *this as its owner. `first`: bytes received already.
  void start(std::unique_ptr<Connection> codec, std::string_view first = {});

  // No new streams; closes when those in flight are done.
  void drain();
  // Closes at the end of this turn.
  void abort(CloseReason reason);

  // The time of the last read; Instant{}: none.
  [[nodiscard]] Instant last_received() const noexcept { return last_received_; }
  [[nodiscard]] Connection& codec() noexcept { return *codec_; }
  [[nodiscard]] const Transport& transport() const noexcept { return *transport_; }
  [[nodiscard]] Loop& loop() const noexcept { return Loop::Timer::loop(); }

  void on_change(Connection&) override { ask_turn_end(); }
  [[nodiscard]] Peer peer() override;
  // The address of the client behind the peer; empty: the peer's own. Before the first peer().
  void set_peer(std::string address) noexcept { peer_ = std::move(address); }

 private:
  enum class State : std::uint8_t { open, broken, lingering, closed };

  void on_readable() override;
  void on_writable() override;
  void on_timer(Instant now) override;
  void on_turn_end() override;

  void flush();
  void on_send_failed();
  [[nodiscard]] bool discard();
  void close(bool reset);
  [[nodiscard]] bool should_linger() const noexcept;

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Connection> codec_;
  Owner& owner_;
  Instant last_received_{};
  std::string peer_;         // cached by peer()
  std::string certificate_;  // with it
  std::uint32_t lingered_bytes_ = 0;
  const Side side_;
  State state_ = State::open;
  bool knows_peer_ = false;  // peer_ and certificate_ are complete
  bool reading_ = false;     // waits for readability
  bool writing_ = false;
  bool input_ended_ = false;   // EOF was read
  bool output_ended_ = false;  // our direction is shut down
};

}  // namespace damper::http
