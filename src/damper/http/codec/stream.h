#ifndef DAMPER_HTTP_CODEC_STREAM_H_
#define DAMPER_HTTP_CODEC_STREAM_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/head.h"

namespace damper::http {

// Who is at the other end of a connection, as far as it is known.
struct Peer {
  std::string_view address{};  // "10.0.0.7", without the port; empty: nobody knows
  bool secure = false;         // TLS
};

// A Stream is one request and its answer on a connection, as its user writes to it: a server's user
// sends an answer, a client's a request. HTTP/1.1 and HTTP/2 are the same here, so that a server
// stream can be coupled to a client stream, which is a proxy.
//
// Model: send_head once, send_data as often as needed, the end with one of them or with
// send_trailers. Nothing reaches the wire during these calls: the connection gathers what one turn
// of the loop wrote and sends it at once.
// Back pressure: send_data takes what there is room for and says how much; when it took less,
// on_writable() comes later. What was received and is not consumed() yet counts against a window:
// a user that does not consume stops the peer.
// Tunnels: a request with Head::upgrade (HTTP/1.1), and a CONNECT, end with their head; in HTTP/2 a
// CONNECT does not, and what comes before its answer belongs to the tunnel. When they are answered
// with 101, or 2xx, on_data(), on_end() and send_data() go on from there with bytes of another
// protocol, on both ends. Each direction ends by itself: on_end() is the peer's end of
// sending, send_data(.., end) is ours, and the peer hears it after all bytes before it. The stream
// is over with the second of them, or when nothing has moved for body_timeout.
// Interim answers: a server may send_interim() before its head, a client hears on_interim(); 100
// (Continue) is the codec's: a server says it when its user has not answered at the head.
// Lengths: Head::content_length is a promise. Who sends less or more of a body breaks the stream:
// it closes with `cancelled`, and the peer sees that it is not whole.
// Lifetime: the stream is good until its user's on_close() has been called, or cancel().
// Thread safety: none; all on the loop's thread.
class Stream {
 public:
  virtual void send_head(const Head& head, bool end) = 0;
  // How many bytes it took. `end` counts only when it took all of them.
  [[nodiscard]] virtual std::size_t send_data(std::string_view bytes, bool end) = 0;
  virtual void send_trailers(std::span<const Field> trailers) = 0;  // and the end
  // Left out where it has no place: it is not is_passable_interim(), the client speaks HTTP/1.0 or
  // does not read, the head was sent.
  virtual void send_interim(const Head& /*head*/) {}
  // The user is done with so many of the bytes that on_data() gave it.
  virtual void consumed(std::size_t bytes) = 0;
  // Gives it up: RST_STREAM, or the end of an HTTP/1.1 connection, so that the peer sees it. The
  // user hears nothing more, on_close() neither. Not from within on_close(). What was said up to an
  // end is still sent to who would hear it as whole: a client its answer, a tunnel's peer its
  // bytes.
  virtual void cancel() = 0;

  // When the first byte of the request came (server); when it was opened (client).
  [[nodiscard]] virtual Instant began() const noexcept = 0;
  // Whether a byte of ours may have reached the peer: what never left is retried by anyone.
  [[nodiscard]] virtual bool touched_wire() const noexcept = 0;
  // Good as long as the connection.
  [[nodiscard]] virtual Peer peer() { return {}; }

 protected:
  ~Stream() = default;
};

// A StreamUser is told what comes on a stream: on_head once, on_data, on_end, in this order; then
// on_close, once, last of all, when both sides are done or the stream has failed. A client's may be
// told of a few interim answers before its head. A call that is under way on this user may be
// followed by on_close only after it has returned.
class StreamUser {
 public:
  virtual void on_head(const Head& head, bool end) = 0;
  virtual void on_data(std::string_view bytes) = 0;          // never empty; good for the call
  virtual void on_end(std::span<const Field> trailers) = 0;  // not after on_head(.., end = true)
  virtual void on_interim(const Head& /*head*/) {}           // is_passable_interim()
  virtual void on_writable() {}
  virtual void on_close(CloseReason reason) = 0;

 protected:
  ~StreamUser() = default;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_STREAM_H_
