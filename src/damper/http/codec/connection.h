#ifndef DAMPER_HTTP_CODEC_CONNECTION_H_
#define DAMPER_HTTP_CODEC_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/stream.h"

namespace damper::http {

// What a peer may make us keep, and for how long. find_error() says what is wrong with one.
struct ConnectionLimits {
  std::size_t max_head_bytes = std::size_t{64} * 1024;  // 1 KiB to 1 MiB; start line and fields
  std::size_t max_fields = 100;                         // 1 to 1000
  std::uint64_t max_body_bytes = 0;  // of one message; 0: as many as come (they are streamed)
  std::size_t window_bytes =
      std::size_t{64} * 1024;  // unconsumed bytes of a stream; 16 KiB to 16 MiB
  std::size_t max_output_bytes =
      std::size_t{256} * 1024;      // unsent bytes before send_data() takes no more
  std::uint32_t max_streams = 100;  // at once, HTTP/2
  Duration head_timeout = std::chrono::seconds(10);  // from the first byte of a head to its last
  // Without any byte of a body that is due; of a tunnel, in either direction.
  Duration body_timeout = std::chrono::seconds(30);
  Duration write_timeout = std::chrono::seconds(30);  // without any progress of what is to be sent
  Duration idle_timeout = std::chrono::seconds(60);   // without a stream
  // Of a whole body that comes, and of output until all of it is sent; a second longer for each KiB
  // that was moved (see Pace). Who drips a byte now and then ends with body_timeout or
  // write_timeout all the same. 0: none, for streams on which little is said for long.
  Duration message_timeout = std::chrono::minutes(5);
  Duration max_age{0};  // after it the connection takes no new streams; 0: none
  // HTTP/2: frames that carry nothing (ping, settings, empty data, priority, reset streams,
  // window updates beyond need) in a second, before the connection is closed as a flood.
  std::uint32_t max_idle_frames_per_second = 1000;

  friend bool operator==(const ConnectionLimits&, const ConnectionLimits&) = default;
};

class Connection;

// Who does the I/O for a connection, and is told when there is some.
class ConnectionOwner {
 public:
  // There is output, or a change of wants_input(), deadline() or is_over(), that a call from
  // outside of receive() brought about. Comes at most once until the owner has looked, which is to
  // call output(): that goes on with what was put off, such as the next request and on_close().
  virtual void on_change(Connection& connection) = 0;
  // Whom its streams name as their peer.
  [[nodiscard]] virtual Peer peer() { return {}; }

 protected:
  ~ConnectionOwner() = default;
};

// A server's side: who uses a request that begins.
class RequestSink {
 public:
  // Before its on_head(). The user outlives the stream.
  [[nodiscard]] virtual StreamUser& on_request(Stream& stream) = 0;

 protected:
  ~RequestSink() = default;
};

// A Connection is the codec of one connection: bytes and time in, calls of stream users and bytes
// out. It does no I/O and reads no clock: net/ moves the bytes, a test or a fuzzer does it without
// sockets.
//
// Model: whoever owns it calls receive() with what came, writes output() to the peer and says so
// with sent(), calls on_timer() at deadline(), and closes the transport once is_over() and output()
// is empty. All of these may call stream users, which may call their streams; none may be called
// from within another, nor the connection destroyed. After receive(), sent(), on_timer() and
// on_end_of_input() the owner looks again at output(), wants_input(), deadline() and is_over().
// A server that hears the end of its input takes its peer for gone: the request under way closes
// with `reset`.
// Invariants:
//   (1) Whatever the peer sends: no crash, and never more memory than the limits allow.
//   (2) Every stream's user hears on_close() exactly once, unless it cancelled.
//   (3) An idle connection holds no buffer over 1 KiB (HTTP/1.1).
// Thread safety: none.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual void receive(std::string_view bytes, Instant now) = 0;
  // The peer will send no more.
  virtual void on_end_of_input(Instant now) = 0;
  // The transport broke, or the owner wants it gone: every stream closes with the reason.
  virtual void abort(CloseReason reason) = 0;

  // What to write, as far as it is contiguous; sent() says how much of it was.
  [[nodiscard]] virtual std::string_view output() = 0;
  virtual void sent(std::size_t bytes, Instant now) = 0;
  // Whether the owner should read from the peer: not while a user is behind.
  [[nodiscard]] virtual bool wants_input() const noexcept = 0;

  // A tunnel that is half closed: nothing will be written any more, and the peer's end has not
  // come. When output() is empty the owner ends the sending direction, so that the peer sees it; if
  // it is over, too, the peer is to see that nobody hears it any more.
  [[nodiscard]] virtual bool has_ended_output() const noexcept { return false; }

  // When on_timer() is due: the nearest of the limits' times; kNever: none.
  [[nodiscard]] virtual Instant deadline() const noexcept = 0;
  virtual void on_timer(Instant now) = 0;

  // No new streams; over when those under way are done. HTTP/2 says GOAWAY, HTTP/1.1 Connection:
  // close.
  virtual void drain() = 0;
  // Nothing more comes of it: close it when output() is empty. reason() says why.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  [[nodiscard]] virtual CloseReason reason() const noexcept = 0;

  // Client side. Whether one more stream can be opened now, and how many are open.
  [[nodiscard]] virtual bool can_open() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t streams() const noexcept = 0;
  // REQUIRES: can_open(). The user outlives the stream.
  virtual Stream& open(StreamUser& user, Instant now) = 0;
};

// HTTP/1.1 (RFC 9112), strict: what two parsers could read in two ways is refused.
[[nodiscard]] std::unique_ptr<Connection> make_h1_server(const ConnectionLimits& limits,
                                                         ConnectionOwner& owner, RequestSink& sink,
                                                         Instant now);
[[nodiscard]] std::unique_ptr<Connection> make_h1_client(const ConnectionLimits& limits,
                                                         ConnectionOwner& owner, Instant now);
// HTTP/2 (RFC 9113), with nghttp2.
[[nodiscard]] std::unique_ptr<Connection> make_h2_server(const ConnectionLimits& limits,
                                                         ConnectionOwner& owner, RequestSink& sink,
                                                         Instant now);
[[nodiscard]] std::unique_ptr<Connection> make_h2_client(const ConnectionLimits& limits,
                                                         ConnectionOwner& owner, Instant now);

// What the bytes of a new connection without ALPN are: the HTTP/2 preface, HTTP/1.1, or too few to
// tell.
enum class Protocol : std::uint8_t { unknown, h1, h2 };
[[nodiscard]] Protocol sniff(std::string_view first_bytes) noexcept;

[[nodiscard]] std::optional<std::string> find_error(const ConnectionLimits& limits);

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_CONNECTION_H_
