#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/h2_fields.h"
#include "damper/http/codec/h2_stream.h"
#include "damper/http/codec/output_buffer.h"
#include "damper/http/codec/reset_limit.h"
#include "damper/http/codec/stall_timer.h"

namespace damper::http {

// An H2Session is either end of an HTTP/2 connection: nghttp2 with bounds, times and reasons.
//
// Why nghttp2: HPACK, flow control and the state of streams are where years of errors went.
// Model: nghttp2 calls back from within receive() and output(). Users are called from the former,
// and from settle(), which reports ends and room at the end of every call from outside: so an end
// is never reported inside a call of its user. Frames without use are counted by the second: pings,
// settings, priorities, resets, unknown ones, empty data, and window updates that no data of ours
// has earned. More than the limit is a flood. So are more streams than ResetLimit allows that end
// in an error of the peer, whether the peer resets them or nghttp2 does. A CONNECT that was
// answered with 2xx is a tunnel (RFC 9113, 8.5): data both ways, END_STREAM is the end of one
// direction. A stream that is answered before its request is complete has ended for its user; it is
// reset kLinger later, so that what its peer has sent meanwhile is answered as on any open stream.
// Invariants: those of Connection. What is kept is at most the limits' output, kOwnBytes for each
// stream beyond that, and one head.
// Thread safety: none.
class H2Session final : public Connection {
 public:
  // With a sink it is a server.
  H2Session(const ConnectionLimits& limits, ConnectionOwner& owner, RequestSink* sink, Instant now);
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;
  ~H2Session() override;

  void receive(std::string_view bytes, Instant now) override;
  void on_end_of_input(Instant now) override;
  void abort(CloseReason reason) override;
  [[nodiscard]] std::string_view output() override;
  void sent(std::size_t bytes, Instant now) override;
  [[nodiscard]] bool wants_input() const noexcept override;
  [[nodiscard]] Instant deadline() const noexcept override;
  void on_timer(Instant now) override;
  void drain() override;
  [[nodiscard]] bool is_over() const noexcept override { return over_; }
  [[nodiscard]] CloseReason reason() const noexcept override { return reason_; }
  [[nodiscard]] bool can_open() const noexcept override;
  [[nodiscard]] std::uint32_t streams() const noexcept override { return live_streams_; }
  Stream& open(StreamUser& user, Instant now) override;

 private:
  friend class H2Stream;
  struct Callbacks;  // What nghttp2 calls.
  struct Setup;
  static constexpr std::size_t kGatherBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kMostQueued = 4000;       // frames, before it reads no more
  static constexpr std::size_t kMostInterimQueued = 32;  // frames, before none of 16 KiB is added
  static constexpr int kMostInterim = 8;
  static constexpr Duration kLinger = std::chrono::milliseconds(100);

  class Call;

  [[nodiscard]] bool is_server() const noexcept { return sink_ != nullptr; }
  void configure();

  // Whether the connection continues.
  [[nodiscard]] bool feed(std::string_view bytes);

  // ---- Events of nghttp2
  [[nodiscard]] bool count_idle_frame() noexcept;
  [[nodiscard]] bool check_stream_of(std::int32_t id, bool begins) noexcept;
  [[nodiscard]] bool check_data(const DataHeads::Head& head) noexcept;
  void count_end(const H2Stream& stream, CloseReason reason) noexcept;
  void on_headers(H2Stream& stream, bool end);
  void on_request_head(H2Stream& stream, bool end);
  void refuse(H2Stream& stream, int status, CloseReason reason, bool end);
  void report_refused(int status, CloseReason reason, Instant began);
  [[nodiscard]] Peer peer();
  void on_response_head(H2Stream& stream, bool end);
  void on_peer_end(H2Stream& stream, std::span<const Field> trailers);
  void on_data(H2Stream* stream, std::int32_t id, std::string_view data);
  void on_frame_sent(const nghttp2_frame& frame);
  void on_stream_closed(H2Stream& stream, std::uint32_t code);

  // ---- Streams
  H2Stream& add_stream(Instant began);
  [[nodiscard]] H2Stream* find_stream(std::int32_t id) const noexcept;
  // Ends it for its user, who is told in settle(); nghttp2 forgets it.
  void close_stream(H2Stream& stream, CloseReason reason);
  // The same, and sends RST_STREAM.
  void reset_stream(H2Stream& stream, CloseReason reason, std::uint32_t code);
  // The same after a complete response, and sends RST_STREAM later if the peer does not end it.
  void linger(H2Stream& stream);
  void end_lingering(Instant now);
  void close_all(CloseReason reason);
  void on_waiting(H2Stream& stream);  // It has something to send.
  void begin(StallTimer& timer, Duration limit) noexcept;
  void begin(MinRateTimer& timer) noexcept;
  [[nodiscard]] bool is_body_due(const H2Stream& stream) const noexcept;
  [[nodiscard]] bool is_silence_due(const H2Stream& stream) const noexcept;
  [[nodiscard]] std::size_t room_for(const H2Stream& stream) const noexcept;

  // ---- The connection
  void fail(CloseReason reason, std::uint32_t code);
  void retire(CloseReason reason);
  void settle();
  void look_for_the_end();
  void gather();
  void check_streams(Instant now);
  void notify();
  // Whether the peer reads: interim answers are left out where it does not.
  [[nodiscard]] bool has_room_for_interim() const noexcept;

  const ConnectionLimits limits_;
  ConnectionOwner& owner_;
  RequestSink* const sink_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<H2Stream>> streams_;
  std::vector<H2Stream*> closed_;  // for settle() to tell
  std::uint32_t live_streams_ = 0;
  struct Lingering {
    std::int32_t id;
    Instant until;
  };
  std::vector<Lingering> lingering_;  // open for nghttp2, which bounds them by max_streams
  std::optional<H2FieldReader> reader_;

  OutputBuffer output_{0};
  std::uint64_t gathered_ = 0;  // bytes that ever were in output_
  std::size_t waiting_ = 0;     // bytes of all streams that nghttp2 has not taken
  std::uint32_t wanting_room_ = 0;

  CallClock clock_;
  bool notified_ = false;
  bool retiring_ = false;  // No new streams.
  bool over_ = false;
  CloseReason reason_ = CloseReason::finished;
  std::optional<CloseReason> failure_;  // of a callback; settle() ends the connection
  std::uint32_t failure_code_ = NGHTTP2_ENHANCE_YOUR_CALM;  // of its GOAWAY

  Instant counted_since_{};
  std::uint32_t idle_frames_ = 0;
  std::uint64_t earned_updates_ = 0;  // window updates that our data give a reason for
  ResetLimit resets_;
  EndedStreams ended_streams_;  // a server's
  DataHeads data_heads_;        // a server's

  StallTimer idle_;
  StallTimer head_;
  Instant check_at_ = kNever;  // No stream's timer expires earlier.
  Instant too_old_at_ = kNever;
};

}  // namespace damper::http
