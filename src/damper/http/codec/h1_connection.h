#ifndef DAMPER_HTTP_CODEC_H1_CONNECTION_H_
#define DAMPER_HTTP_CODEC_H1_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/h1_chunked.h"
#include "damper/http/codec/h1_head.h"
#include "damper/http/codec/h1_writer.h"
#include "damper/http/codec/watch.h"

namespace damper::http {

// An H1Connection is what both ends of an HTTP/1.1 connection have in common: one stream at a time,
// bodies in and out, timeouts, and the order of events. h1_server.cc and h1_client.cc add the
// heads.
//
// Model: bytes go through run(), which goes on as long as something happens: the stream's end is
// told, a head is read, a body is handed on. What cannot be used yet (an incomplete head, the next
// request while one is under way) stays in input_, nothing else is ever kept. Everything that is
// written is appended to output_, so that a head and a small body go out as one.
// A user is called only from within run(), or from sent(): the end of a stream, which a user may
// bring about in the middle of a call, is told when the call has returned.
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
  static constexpr std::size_t kKeptBytes = 1024;  // of a buffer, while nothing is in it
  static constexpr std::size_t kLookaheadBytes =
      std::size_t{4} * 1024;  // of requests that wait for their turn

  enum class Reading : std::uint8_t { nothing, head, body, ended };
  enum class Writing : std::uint8_t { nothing, head, body, ended };

  H1Connection(const ConnectionLimits& limits, ConnectionOwner& owner, Instant now);

  // ---- What an end adds.
  // Reads a head from the front of the bytes and tells the user. How many bytes it took; 0: it
  // needs more, or the connection has failed.
  [[nodiscard]] virtual std::size_t read_head(std::string_view bytes) = 0;
  // Whether the stream is over: said for both sides, or as good as.
  [[nodiscard]] virtual bool is_finished() const noexcept = 0;
  // The stream has ended well, user_ is gone: what comes next.
  virtual void next_stream() = 0;
  // The peer's message is wrong: the server answers, then the connection fails.
  virtual void refuse(int status, CloseReason reason) = 0;
  // Why a stream fails when its peer has gone, and what happens to one that its user gives up.
  [[nodiscard]] virtual CloseReason reason_of_end() const noexcept = 0;
  virtual void on_cancel() = 0;

  // ---- Stream
  [[nodiscard]] std::size_t send_data(std::string_view bytes, bool end) final;
  void send_trailers(std::span<const Field> trailers) final;
  void consumed(std::size_t bytes) final;
  void cancel() final;
  [[nodiscard]] Instant began() const noexcept final { return began_; }
  [[nodiscard]] bool touched_wire() const noexcept final { return touched_; }
  [[nodiscard]] Peer peer() final { return owner_.peer(); }

  // ---- For the ends
  // A call from outside: the time it told, if it did.
  class Turn {
   public:
    Turn(H1Connection& connection, Instant now) noexcept;
    explicit Turn(H1Connection& connection) noexcept;  // at a time after the last one
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { --connection_.depth_; }

   private:
    H1Connection& connection_;
  };
  // Goes on with what is kept in input_.
  void go_on();
  void fail(CloseReason reason);        // The connection is over, and the stream with it.
  void fail_later(CloseReason reason);  // The same, after the call that is under way.
  void end_well(CloseReason reason) noexcept;
  void begin_stream(StreamUser& user) noexcept;
  // A body, or a tunnel, is to be read: how it ends, and its length with H1Framing::length.
  void begin_body(H1Framing framing, std::uint64_t length);
  void begin_idle() noexcept;
  void begin_sending(const H1Framed& framed, bool end);
  // A head is there in part only: times it, and says whether it is worth another look.
  [[nodiscard]] bool has_whole_head(std::string_view bytes) noexcept;
  void on_partial_head(std::string_view bytes) noexcept;
  void on_whole_head() noexcept;
  [[nodiscard]] H1Head::Bounds bounds() const noexcept;
  [[nodiscard]] std::size_t unsent() const noexcept { return output_.size() - output_begin_; }
  [[nodiscard]] bool is_tunnel() const noexcept { return framing_out_ == H1Framing::tunnel; }
  // Both directions of a tunnel have ended.
  [[nodiscard]] bool is_tunnel_over() const noexcept {
    return writing_ == Writing::ended && reading_ == Reading::ended;
  }
  void drop_output() noexcept;
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
  bool shown_ = false;      // output() gave some of this stream away: it may be under way.
  bool over_ = false;
  std::string output_;
  Instant now_;                     // The last time that was told.
  bool exact_ = true;               // It is the time of the call that is under way.
  Instant input_since_{};           // When input_ began to be filled.
  Instant began_;                   // The stream; set before anybody can ask for it.
  std::uint64_t body_left_ = 0;     // to be read, with H1Framing::length
  std::uint64_t sending_left_ = 0;  // to be written, with H1Framing::length
  std::uint64_t discarded_ = 0;     // of a body that nobody reads any more
  Watch idle_;
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
    return unsent() == 0 && (!is_tunnel() || has_window());
  }
  // How long it may be silent: without a stream, or as a tunnel.
  [[nodiscard]] Duration silence() const noexcept {
    return is_tunnel() ? limits_.body_timeout : limits_.idle_timeout;
  }
  void close_if_idle(CloseReason reason);

  std::uint32_t depth_ = 0;  // calls that are under way
  bool notified_ = false;
  bool wants_room_ = false;  // The user waits for on_writable().
  CloseReason reason_ = CloseReason::finished;
  std::optional<CloseReason> failure_;  // to be told when the call has returned
  std::string input_;
  std::size_t input_begin_ = 0;
  std::size_t scanned_ = 0;  // bytes of an incomplete head that were looked at
  std::size_t output_begin_ = 0;
  std::size_t unconsumed_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::optional<H1Chunked> chunked_;
  Instant too_old_at_ = kNever;
  Watch head_;
  Watch body_;
  Watch write_;
  Pace whole_in_;   // of the body that comes
  Pace whole_out_;  // since there was no output
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_H1_CONNECTION_H_
