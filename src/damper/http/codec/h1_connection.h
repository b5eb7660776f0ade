#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/h1_chunked.h"
#include "damper/http/codec/h1_head.h"
#include "damper/http/codec/h1_writer.h"
#include "damper/http/codec/output_buffer.h"
#include "damper/http/codec/stall_timer.h"

namespace damper::http {

// An H1Connection is the common part of both ends of an HTTP/1.1 connection: one stream at a time,
// bodies in and out, timeouts, and the order of events. h1_server.cc and h1_client.cc add the
// heads.
//
// Model: run() repeats steps while they make progress: it ends a finished stream, reads a head,
// passes a body on. Input that cannot be used yet (an incomplete head, the next request while one
// is in flight) stays in input_. All output is appended to output_, so that a head and a small body
// are sent together.
// A user is called only from within run() or sent(). If a user ends its stream during such a call,
// on_close() is called after that call has returned.
// Invariants: those of Connection.
// Thread safety: none.
// Cost: no allocation for a message but that of output_, which is kept up to kKeptBytes.
class H1Connection : public Connection, protected Stream {
 public:
  void receive(std::string_view bytes, Instant now) final;
  void on_end_of_input(Instant now) final;
  void abort(CloseReason reason) final;
  [[nodiscard]] std::string_view output() final;
  void sent(std::size_t bytes, Instant now) final;
  [[nodiscard]] bool wants_input() const noexcept final;
  [[nodiscard]] bool has_ended_output() const noexcept final {
    return is_tunnel() && writing_ == Writing::ended && reading_ != Reading::ended;
  }
  [[nodiscard]] Instant deadline() const noexcept final;
  void on_timer(Instant now) final;
  void drain() final;
  [[nodiscard]] bool is_over() const noexcept final { return over_; }
  [[nodiscard]] CloseReason reason() const noexcept final { return reason_; }
  [[nodiscard]] std::uint32_t streams() const noexcept final { return user_ != nullptr ? 1 : 0; }

 protected:
  static constexpr std::size_t kKeptBytes = 1024;  // capacity of an empty buffer
  static constexpr std::size_t kLookaheadBytes = std::size_t{4} * 1024;  // of pipelined requests

  enum class Reading : std::uint8_t { nothing, head, body, ended };
  enum class Writing : std::uint8_t { nothing, head, body, ended };

  H1Connection(const ConnectionLimits& limits, ConnectionOwner& owner, Instant now);

  // ---- Overridden by each end
  // Reads a head from the front of the bytes and calls on_head(). Returns how many bytes it used;
  // 0: it needs more, or the connection has failed.
  [[nodiscard]] virtual std::size_t read_head(std::string_view bytes) = 0;
  // Whether the stream is over.
  [[nodiscard]] virtual bool is_finished() const noexcept = 0;
  // The stream has ended without an error, and user_ is null: prepares the next one.
  virtual void next_stream() = 0;
  // The peer's message is invalid: a server answers with `status`; then the connection fails.
  virtual void refuse(int status, CloseReason reason) = 0;
  // The reason of a stream whose peer has disconnected; and cancel() of a stream.
  [[nodiscard]] virtual CloseReason reason_of_end() const noexcept = 0;
  virtual void on_cancel() = 0;

  // ---- Stream
  [[nodiscard]] std::size_t send_data(std::string_view bytes, bool end) final;
  void send_trailers(std::span<const Field> trailers) final;
  void consumed(std::size_t bytes) final;
  void cancel() final;
  [[nodiscard]] Instant began() const noexcept final { return began_; }
  [[nodiscard]] bool touched_wire() const noexcept final { return touched_; }
  [[nodiscard]] Peer peer() override {
    Peer peer = owner_.peer();
    peer.protocol = "HTTP/1.1";
    return peer;
  }

  // ---- For the ends
  // Runs with the bytes of input_.
  void go_on();
  void fail(CloseReason reason);        // The connection is over, and the stream with it.
  void fail_later(CloseReason reason);  // The same, after the current call.
  void end_well(CloseReason reason) noexcept;
  void begin_stream(StreamUser& user) noexcept;
  // A body, or a tunnel, follows; `length` with H1Framing::length.
  void begin_body(H1Framing framing, std::uint64_t length);
  void begin_idle() noexcept;
  void begin_sending(const H1Framed& framed, bool end);
  // Whether the bytes may contain a whole head: worth a scan.
  [[nodiscard]] bool has_whole_head(std::string_view bytes) noexcept;
  void on_partial_head(std::string_view bytes) noexcept;
  void on_whole_head() noexcept;
  [[nodiscard]] H1Head::Bounds bounds() const noexcept;
  [[nodiscard]] bool is_tunnel() const noexcept { return framing_out_ == H1Framing::tunnel; }
  // Both directions of a tunnel have ended.
  [[nodiscard]] bool is_tunnel_over() const noexcept {
    return writing_ == Writing::ended && reading_ == Reading::ended;
  }
  void notify();  // Something was written or changed.

  const ConnectionLimits limits_;
  ConnectionOwner& owner_;
  StreamUser* user_ = nullptr;
  Reading reading_ = Reading::nothing;
  Writing writing_ = Writing::nothing;
  H1Framing framing_in_ = H1Framing::none;
  H1Framing framing_out_ = H1Framing::none;
  bool keep_alive_ = true;  // Another stream may follow this one.
  bool closing_ = false;    // No other stream shall follow.
  bool touched_ = false;    // A byte of this stream was sent.
  bool exposed_ = false;    // output() has returned some of this stream: it may be on the wire.
  bool over_ = false;
  OutputBuffer output_{kKeptBytes};
  CallClock clock_;
  Instant input_since_{};           // When input_ began to be filled.
  Instant began_;                   // The stream; set before anybody can ask for it.
  std::uint64_t body_left_ = 0;     // to be read, with H1Framing::length
  std::uint64_t sending_left_ = 0;  // to be written, with H1Framing::length
  std::uint64_t discarded_ = 0;     // of a body without a reader
  StallTimer idle_;
  CloseReason closing_reason_ = CloseReason::draining;

 private:
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] std::size_t run(std::string_view bytes);
  [[nodiscard]] std::size_t step(std::string_view bytes);
  [[nodiscard]] bool may_read_head() const noexcept;
  [[nodiscard]] std::size_t read_body(std::string_view bytes);
  [[nodiscard]] std::size_t read_chunks(std::string_view bytes);
  [[nodiscard]] bool hand_on(std::string_view data);
  void end_body(std::string_view trailers);
  void finish_stream();
  void end_sending();
  void keep(std::string_view rest);
  [[nodiscard]] bool has_window() const noexcept { return unconsumed_ < limits_.window_bytes; }
  [[nodiscard]] bool is_body_due() const noexcept;
  // Whether it is the peer who is silent, and not we who do not read or write.
  [[nodiscard]] bool is_silence_due() const noexcept {
    return output_.size() == 0 && (!is_tunnel() || has_window());
  }
  // How long it may be silent: without a stream, or as a tunnel.
  [[nodiscard]] Duration silence() const noexcept {
    return is_tunnel() ? limits_.body_timeout : limits_.idle_timeout;
  }
  void close_if_idle(CloseReason reason);

  bool notified_ = false;
  bool wants_room_ = false;  // The user waits for on_writable().
  CloseReason reason_ = CloseReason::finished;
  std::optional<CloseReason> failure_;  // to be told when the call has returned
  std::string input_;
  std::size_t input_begin_ = 0;
  std::size_t scanned_ = 0;  // bytes of an incomplete head that were looked at
  std::size_t unconsumed_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::optional<H1Chunked> chunked_;
  Instant too_old_at_ = kNever;
  StallTimer head_;
  StallTimer body_;
  MinRateTimer body_rate_;
};

}  // namespace damper::http
