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
// Tunnels (HTTP/1.1): a request with Head::upgrade, and a CONNECT, end with their head. When they
// are answered with 101, or 2xx, on_data(), on_end() and send_data() go on from there with bytes of
// another protocol, on both ends.
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
  // The user is done with so many of the bytes that on_data() gave it.
  virtual void consumed(std::size_t bytes) = 0;
  // Gives it up: RST_STREAM, or the end of an HTTP/1.1 connection, so that the peer sees it. The
  // user hears nothing more, on_close() neither. Not from within on_close().
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
// on_close, once, last of all, when both sides are done or the stream has failed. A call that is
// under way on this user may be followed by on_close only after it has returned.
class StreamUser {
 public:
  virtual void on_head(const Head& head, bool end) = 0;
  virtual void on_data(std::string_view bytes) = 0;          // never empty; good for the call
  virtual void on_end(std::span<const Field> trailers) = 0;  // not after on_head(.., end = true)
  virtual void on_writable() {}
  virtual void on_close(CloseReason reason) = 0;

 protected:
  ~StreamUser() = default;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_STREAM_H_
