#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/head.h"

namespace damper::http {

// The other end of a connection, as far as it is known.
struct Peer {
  std::string_view address{};   // "10.0.0.7", without the port; empty: unknown
  bool secure = false;          // TLS
  std::string_view protocol{};  // "HTTP/1.0", "HTTP/1.1", "HTTP/2"; set by the codec
  // Of a client whose certificate was verified: see describe_peer_certificate(). Empty: none.
  std::string_view certificate{};
};

// A Stream is one request and its answer on a connection, as its user writes to it: a server's user
// sends an answer, a client's a request. HTTP/1.1 and HTTP/2 have the same interface, so that a
// proxy can join a server stream and a client stream.
//
// Model: send_head() once, send_data() as often as needed; the end with one of them or with
// send_trailers(). Nothing reaches the wire during these calls: the connection sends the output of
// one turn of the loop together.
// Back-pressure: send_data() takes as much as there is room for and returns how much; if it took
// less, on_writable() follows. Received bytes count against a window until consumed(): a user that
// does not consume stops the peer.
// Tunnels: a request with Head::upgrade (HTTP/1.1), and a CONNECT, end with their head; in HTTP/2 a
// CONNECT does not, and data before its answer belongs to the tunnel. After a 101, or a 2xx to
// CONNECT, on_data(), on_end() and send_data() carry another protocol's bytes, on both ends. Each
// direction ends by itself: on_end() is the peer's half-close, send_data(.., end) is ours. The
// stream is over after both, or when nothing was transferred for body_timeout.
// Interim answers: a server may send_interim() before its head, a client's user gets on_interim().
// The codec sends 100 (Continue) itself if the user has not answered during on_head().
// Lengths: Head::content_length is a promise. A user that sends less or more breaks the stream: it
// closes with `cancelled`, and the peer sees that it is incomplete.
// Lifetime: the stream is valid until its user's on_close() has been called, or cancel().
// Thread safety: none; all on the loop's thread.
class Stream {
 public:
  virtual void send_head(const Head& head, bool end) = 0;
  // Returns how many bytes it took. `end` has an effect only if it took all of them.
  [[nodiscard]] virtual std::size_t send_data(std::string_view bytes, bool end) = 0;
  virtual void send_trailers(std::span<const Field> trailers) = 0;  // and the end
  // No effect if !is_passable_interim(head), after send_head(), for an HTTP/1.0 client and for one
  // that does not read.
  virtual void send_interim(const Head& /*head*/) {}
  // The user has processed `bytes` of what on_data() passed to it.
  virtual void consumed(std::size_t bytes) = 0;
  // Aborts the stream: RST_STREAM, or the end of an HTTP/1.1 connection. The user is not called
  // again, not even on_close(). Not from within on_close(). A complete answer, and a tunnel's
  // direction that has ended, is still sent.
  virtual void cancel() = 0;

  // The time of the request's first byte (server), or of open() (client).
  [[nodiscard]] virtual Instant began() const noexcept = 0;
  // Whether a byte of ours may have reached the peer: if not, a retry is always safe.
  [[nodiscard]] virtual bool touched_wire() const noexcept = 0;
  // Valid as long as the connection.
  [[nodiscard]] virtual Peer peer() { return {}; }

 protected:
  ~Stream() = default;
};

// A StreamUser receives a stream's events: on_head() once, on_data(), on_end(), in this order; then
// on_close(), once and last, when both sides are done or the stream has failed. A client's may get
// a few on_interim() before on_head(). on_close() is never called from within another call of the
// same user.
class StreamUser {
 public:
  virtual void on_head(const Head& head, bool end) = 0;
  virtual void on_data(std::string_view bytes) = 0;          // never empty; valid during the call
  virtual void on_end(std::span<const Field> trailers) = 0;  // not after on_head(.., end = true)
  virtual void on_interim(const Head& /*head*/) {}           // is_passable_interim()
  virtual void on_writable() {}
  virtual void on_close(CloseReason reason) = 0;

 protected:
  ~StreamUser() = default;
};

}  // namespace damper::http
