#ifndef DAMPER_HTTP_NET_SOCKET_CONNECTION_H_
#define DAMPER_HTTP_NET_SOCKET_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// A SocketConnection does the I/O of one connection: it binds a codec, a transport and a loop, for
// servers and clients alike.
//
//   auto connection = std::make_unique<SocketConnection>(loop, std::move(transport), owner, side);
//   connection->start(make_h1_server(limits, *connection, sink, loop.now()));
//
// Model: what comes is read into the loop's scratch memory and handed to the codec. What the codec
// wrote during a turn is sent at the turn's end, in one send if the kernel takes it; writability is
// waited for only when it did not. One timer stands at the codec's deadline.
// A tunnel whose codec has ended its output is half closed: the sending direction is shut down when
// all is sent, and what comes is still read. One that is given up then is closed as below, and
// reset at the end: the peer has heard our end already, and would hear nothing else. A client whose
// peer takes no more reads what that has said before it gives up: it may be the answer, such as an
// early 413 (over plain TCP: OpenSSL reads nothing after a write that failed). A server that closes
// first while the peer may still be sending says goodbye slowly: it shuts down its own direction
// and reads what still comes, for a second and a MiB at most. Else the kernel would reset the
// connection, and the peer might never see the last answer. Invariants:
//   (1) The owner hears on_closed() once, at the end of a turn, when the socket is closed and every
//       stream's user has heard of its end. Nothing of this object is touched afterwards.
//   (2) Nothing is read while the codec wants no input.
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
    // It may be destroyed from here on, also from within.
    virtual void on_closed(SocketConnection& connection, CloseReason reason) = 0;
    // Client side: something may have changed that a pool wants to know: can_open(), is_over(). At
    // the end of a turn, not after on_closed().
    virtual void on_turned(SocketConnection&) {}

   protected:
    ~Owner() = default;
  };

  // REQUIRES: the transport's handshake is done. The owner outlives this.
  SocketConnection(Loop& loop, std::unique_ptr<Transport> transport, Owner& owner, Side side);
  // Closes the socket without a word if it is still open: streams' users hear `cancelled`.
  ~SocketConnection() override;

  // REQUIRES: the codec was made with *this as its owner. `first`: bytes that came already.
  void start(std::unique_ptr<Connection> codec, std::string_view first = {});

  // No new streams; closes when those under way are done.
  void drain();
  // Closes at the end of this turn, whatever is under way.
  void abort(CloseReason reason);

  // When a byte of the peer's came last; the beginning of time: never.
  [[nodiscard]] Instant heard() const noexcept { return heard_; }
  [[nodiscard]] Connection& codec() noexcept { return *codec_; }
  [[nodiscard]] const Transport& transport() const noexcept { return *transport_; }
  [[nodiscard]] Loop& loop() const noexcept { return Loop::Timer::loop(); }

  void on_change(Connection&) override { ask_turn_end(); }
  [[nodiscard]] Peer peer() override;

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
  Instant heard_{};
  std::string peer_;  // once it was asked for
  std::uint32_t lingered_bytes_ = 0;
  const Side side_;
  State state_ = State::open;
  bool reading_ = false;  // a wait is under way
  bool writing_ = false;
  bool input_ended_ = false;   // the codec heard it
  bool output_ended_ = false;  // and we said so
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_SOCKET_CONNECTION_H_
