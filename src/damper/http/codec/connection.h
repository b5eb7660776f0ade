#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/http/codec/reset_limit.h"
#include "damper/http/codec/stream.h"

namespace damper::http {

// What a peer may make a connection keep, and for how long.
struct ConnectionLimits {
  static constexpr std::size_t kKiB = 1024;
  static constexpr std::size_t kMiB = kKiB * kKiB;
  static constexpr Range<std::size_t> kMaxHeadBytes{kKiB, kMiB};
  static constexpr Range<std::size_t> kMaxFields{1, 1000};
  static constexpr Range<std::size_t> kWindowBytes{16 * kKiB, 16 * kMiB};
  static constexpr Range<std::size_t> kMaxOutputBytes{16 * kKiB, 64 * kMiB};
  static constexpr Range<std::uint32_t> kMaxStreams{1, 10'000};
  static constexpr Range<Duration> kTimeout{Duration{1}, kLongest};
  static constexpr Range<Duration> kMessageTimeout{Duration{0}, kLongest};
  static constexpr Range<Duration> kMaxAge{Duration{0}, kLongest};
  static constexpr Range<std::uint32_t> kMaxIdleFrames{10, 0xffff'ffff};

  std::size_t max_head_bytes = 64 * kKiB;     // start line and fields
  std::size_t max_fields = 100;               // of a head
  std::uint64_t max_body_bytes = 0;           // of a message; 0: no limit, bodies are streamed
  std::size_t window_bytes = 64 * kKiB;       // received and not consumed(), of a stream
  std::size_t max_output_bytes = 256 * kKiB;  // unsent, before send_data() takes no more
  std::uint32_t max_streams = 100;            // at once, HTTP/2
  Duration head_timeout = std::chrono::seconds(10);  // from the first byte of a head to its last
  // Without a byte of a body that the peer owes; of a tunnel, without a byte in either direction.
  Duration body_timeout = std::chrono::seconds(30);
  Duration write_timeout = std::chrono::seconds(30);  // without progress of pending output
  Duration idle_timeout = std::chrono::seconds(60);   // without a stream
  // Limit for a complete body, and for draining pending output. Extended by 1 s per KiB
  // transferred, so that a slow-loris peer still times out (see MinRateTimer). 0 disables it (for
  // long-lived, mostly idle streams).
  Duration message_timeout = std::chrono::minutes(5);
  Duration max_age{0};  // after it the connection takes no new streams; 0: no limit
  // HTTP/2: frames without use (ping, settings, empty data, priority, reset streams, window updates
  // beyond need) per second, before the connection is closed as a flood.
  std::uint32_t max_idle_frames_per_second = 1000;
  // HTTP/2 server: streams that end in an error of the peer before their answer is complete, before
  // the connection is closed as a flood. See ResetLimit for bursts and for late resets.
  std::uint32_t max_resets_per_second = 50;

  friend bool operator==(const ConnectionLimits&, const ConnectionLimits&) = default;
};

class Connection;

// Does the I/O for a connection.
class ConnectionOwner {
 public:
  // There is output, or a change of wants_input(), deadline() or is_over(), caused by a call other
  // than receive(). Called at most once until the owner calls output(), which also does deferred
  // work such as the next request and on_close().
  virtual void on_change(Connection& connection) = 0;
  // Returned by Stream::peer().
  [[nodiscard]] virtual Peer peer() { return {}; }

 protected:
  ~ConnectionOwner() = default;
};

// A request that a server's codec has answered itself, or reset: no StreamUser was created for it.
// Without a protocol of the peer: a connection that ended before it had one (see Server).
struct RefusedRequest {
  Peer peer{};     // valid during the call
  int status = 0;  // 400, 408, 413, 431, 501; 0: the stream was reset, or the connection closed
  CloseReason reason = CloseReason::malformed;
  Instant began{};  // its first byte
  Instant now{};
};

// A server's side: returns the user for each new request.
class RequestSink {
 public:
  // Called before on_head(). The user outlives the stream.
  [[nodiscard]] virtual StreamUser& on_request(Stream& stream) = 0;
  // Instead of on_request(), and for an HTTP/2 connection that ends in an error of the client.
  virtual void on_refused(const RefusedRequest& /*refused*/) {}

 protected:
  ~RequestSink() = default;
};

// A Connection is the codec of one connection: bytes and time in, calls of stream users and bytes
// out. It does no I/O and reads no clock: net/ moves the bytes; tests and fuzzers need no sockets.
//
// Model: the owner calls receive() with input, writes output() to the peer and reports it with
// sent(), calls on_timer() at deadline(), and closes the transport once is_over() and output() is
// empty. All of these may call stream users, which may call their streams; they are not re-entrant,
// and the connection is not destroyed from within them. After receive(), sent(), on_timer() and
// on_end_of_input() the owner reads output(), wants_input(), deadline() and is_over() again.
// A server takes the end of its input for a disconnect: the request in flight closes with `reset`.
// Invariants:
//   (1) Whatever the peer sends: no crash, and never more memory than the limits allow.
//   (2) Every stream's user gets on_close() exactly once, unless it cancelled.
//   (3) An idle connection holds no buffer over 1 KiB (HTTP/1.1).
// Thread safety: none.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual void receive(std::string_view bytes, Instant now) = 0;
  // The peer will send no more.
  virtual void on_end_of_input(Instant now) = 0;
  // The transport failed, or the owner closes it: every stream closes with the reason.
  virtual void abort(CloseReason reason) = 0;

  // Bytes to write, as far as they are contiguous; then sent().
  [[nodiscard]] virtual std::string_view output() = 0;
  virtual void sent(std::size_t bytes, Instant now) = 0;
  // Whether the owner should read from the peer: false while a user's window is full.
  [[nodiscard]] virtual bool wants_input() const noexcept = 0;

  // A half-closed tunnel: our direction has ended, the peer's has not. When output() is empty the
  // owner shuts down the sending direction; if is_over(), too, it resets the connection.
  [[nodiscard]] virtual bool has_ended_output() const noexcept { return false; }

  // The time of the next on_timer(); kNever: none.
  [[nodiscard]] virtual Instant deadline() const noexcept = 0;
  virtual void on_timer(Instant now) = 0;

  // No new streams; over when those in flight are done. HTTP/2 sends GOAWAY, HTTP/1.1 Connection:
  // close.
  virtual void drain() = 0;
  // It reads and writes no more: close it when output() is empty. reason() is the cause.
  [[nodiscard]] virtual bool is_over() const noexcept = 0;
  [[nodiscard]] virtual CloseReason reason() const noexcept = 0;

  // Client side. Whether one more stream can be opened now, and how many are open.
  [[nodiscard]] virtual bool can_open() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t streams() const noexcept = 0;
  // REQUIRES: can_open(). The user outlives the stream.
  virtual Stream& open(StreamUser& user, Instant now) = 0;
};

// HTTP/1.1 (RFC 9112), strict: a message that two parsers could read differently is refused.
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

// The protocol of a new connection without ALPN: the HTTP/2 preface, HTTP/1.1, or `unknown` while
// there are too few bytes.
enum class Protocol : std::uint8_t { unknown, h1, h2 };
[[nodiscard]] Protocol sniff(std::string_view first_bytes) noexcept;

[[nodiscard]] std::optional<std::string> find_error(const ConnectionLimits& limits);

}  // namespace damper::http
