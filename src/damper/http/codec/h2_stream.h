#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/codec/message.h"
#include "damper/http/codec/stall_timer.h"
#include "damper/http/codec/stream.h"

namespace damper::http {

class H2Session;

// An H2Stream is one stream of an H2Session: what its user has written and nghttp2 has not taken
// yet, and how far each side is.
//
// Model: bytes wait in `unsent`, up to kOwnBytes in any case and more while the connection as a
// whole has room: one stream whose peer takes nothing cannot stop the others.
// Lifetime: of the session, until settle() has told the user. nghttp2 may forget it earlier, or
// later: `live` says whether they still know each other.
class H2Stream final : public Stream {
 public:
  static constexpr std::size_t kOwnBytes = std::size_t{16} * 1024;

  H2Stream(H2Session& session, Instant began) noexcept : began_(began), session_(session) {}
  H2Stream(const H2Stream&) = delete;
  H2Stream& operator=(const H2Stream&) = delete;
  ~H2Stream() = default;

  void send_head(const Head& head, bool end) override;
  [[nodiscard]] std::size_t send_data(std::string_view bytes, bool end) override;
  void send_trailers(std::span<const Field> trailers) override;
  void send_interim(const Head& head) override;
  void consumed(std::size_t bytes) override;
  void cancel() override;
  [[nodiscard]] Instant began() const noexcept override { return began_; }
  [[nodiscard]] bool touched_wire() const noexcept override;
  [[nodiscard]] Peer peer() override;

 private:
  friend class H2Session;

  [[nodiscard]] std::size_t waiting() const noexcept { return unsent_.size() - unsent_begin_; }
  [[nodiscard]] bool submit(const Head& head, bool end);
  void submit_interim(int status, std::span<const Field> fields);
  void end_sending();
  // How many bytes nghttp2 takes now, and whether that was all there will ever be.
  std::size_t take(std::uint8_t* to, std::size_t most, bool& end);

  StreamUser* user_ = nullptr;
  std::int32_t id_ = -1;
  Instant began_;
  H2Session& session_;
  bool live_ = true;  // No reason to close it has come up.
  bool head_came_ = false;
  bool peer_ended_ = false;
  bool peer_reset_ = false;
  bool is_head_ = false;    // of the method HEAD
  bool connects_ = false;   // of the method CONNECT
  bool tunnel_ = false;     // and that was answered with 2xx
  bool head_sent_ = false;  // by the user
  bool ended_ = false;      // by the user
  bool end_sent_ = false;   // by nghttp2
  bool swallows_ = false;   // An answer without a body: its data go nowhere.
  bool deferred_ = false;   // nghttp2 waits for more of it.
  bool wants_room_ = false;
  int interim_ = 0;
  CloseReason reason_ = CloseReason::finished;
  std::optional<std::uint64_t> promised_;  // bytes of the body that are still to come from the user
  std::optional<std::uint64_t> wire_offset_;  // where its first frame begins in all that is sent
  std::uint64_t body_bytes_ = 0;
  std::size_t unconsumed_ = 0;
  std::string unsent_;
  std::size_t unsent_begin_ = 0;
  FieldList trailers_;
  StallTimer body_;
  StallTimer write_;
  MinRateTimer body_rate_;
  MinRateTimer write_rate_;  // since unsent_ was empty
};

// DataHeads finds the heads of DATA frames among the bytes of a client.
//
// Why: nghttp2 1.52 ignores DATA of a closed stream without a callback, and its padding.
// Model: the bytes are a preface of 24, then frames: a head of 9 with the length of the payload,
// and the payload, which begins with the padding's length if the head has PADDED. What is malformed
// otherwise is nghttp2's.
// Thread safety: none. Cost: some comparisons a frame, none for its payload.
class DataHeads {
 public:
  struct Head {
    std::size_t before = 0;  // where it begins in the bytes; 0 also if it began earlier
    std::int32_t id = 0;
    bool has_bad_padding = false;  // It is as long as the payload, or longer.
  };
  // The next one in `bytes` that is complete, from `at` on, which moves behind it; else to the end.
  [[nodiscard]] std::optional<Head> find_next(std::string_view bytes, std::size_t& at) noexcept {
    while (at < bytes.size()) {
      const std::size_t skipped = std::min<std::size_t>(payload_, bytes.size() - at);
      payload_ -= skipped;
      at += skipped;
      const std::size_t begin = at;
      while (at < bytes.size() && size_ < needed()) {
        head_[size_++] = static_cast<std::uint8_t>(bytes[at++]);
      }
      if (size_ < needed()) return std::nullopt;
      const bool padded = size_ > kHead;
      payload_ = length() - (padded ? 1 : 0);
      size_ = 0;
      if (head_[3] != 0) continue;
      const auto id = static_cast<std::uint32_t>((head_[5] & 0x7f) << 24 | head_[6] << 16 |
                                                 head_[7] << 8 | head_[8]);
      return Head{.before = begin,
                  .id = static_cast<std::int32_t>(id),
                  .has_bad_padding = padded && head_[kHead] >= length()};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kHead = 9;
  static constexpr std::size_t kPreface = 24;
  static constexpr std::uint8_t kPadded = 8;

  [[nodiscard]] std::size_t length() const noexcept {
    return static_cast<std::size_t>(head_[0] << 16 | head_[1] << 8 | head_[2]);
  }
  // Bytes of a head; REQUIRES: more than that only if it is complete so far.
  [[nodiscard]] std::size_t needed() const noexcept {
    const bool has_padding =
        size_ >= kHead && head_[3] == 0 && (head_[4] & kPadded) != 0 && length() > 0;
    return has_padding ? kHead + 1 : kHead;
  }

  std::array<std::uint8_t, kHead + 1> head_{};
  std::size_t size_ = 0;            // of head_
  std::size_t payload_ = kPreface;  // bytes to skip
};

// EndedStreams finds the error of a HEADERS or DATA frame on a stream that is closed.
//
// Why: nghttp2 ignores such frames. RFC 9113 has an error for those that can only be a fault of the
// peer: STREAM_CLOSED if the peer itself has ended the stream (5.1), PROTOCOL_ERROR if it has
// skipped the stream (5.1.1). Other frames on closed streams were sent before the peer has seen our
// RST_STREAM, and are ignored.
// Model: the last kMost streams that closed after the peer had ended them, and the last range of
// streams that it has skipped. An older one is ignored.
// Invariants:
//   (1) A frame that a conforming peer can send has no error.
// Thread safety: none. Cost: some comparisons a frame; no allocation.
class EndedStreams {
 public:
  static constexpr std::size_t kMost = 8;
  enum class Error : std::uint8_t {
    none,
    reset,    // after RST_STREAM of the peer: an error of the stream, STREAM_CLOSED
    ended,    // after END_STREAM of the peer: an error of the connection, STREAM_CLOSED
    skipped,  // under a stream that the peer has begun: of the connection, PROTOCOL_ERROR
  };

  // A frame of the peer arrives. `begins`: it is HEADERS.
  [[nodiscard]] Error on_frame(std::int32_t id, bool begins) noexcept {
    if (id > last_begun_) {
      if (begins && id % 2 == 1) {
        if (id > last_begun_ + 2) {
          skipped_from_ = last_begun_ + 2;
          skipped_to_ = id - 2;
        }
        last_begun_ = id;
      }
      return Error::none;  // nghttp2 has the errors of new and idle streams.
    }
    for (const Ended& ended : ended_) {
      if (ended.id == id) return ended.by_reset ? Error::reset : Error::ended;
    }
    const bool skipped = id % 2 == 1 && id >= skipped_from_ && id <= skipped_to_;
    return skipped ? Error::skipped : Error::none;
  }
  // A stream has closed that the peer had ended, by RST_STREAM or by END_STREAM.
  void on_closed(std::int32_t id, bool by_reset) noexcept {
    ended_[next_] = {id, by_reset};
    next_ = (next_ + 1) % kMost;
  }

 private:
  struct Ended {
    std::int32_t id = -1;
    bool by_reset = false;
  };
  std::array<Ended, kMost> ended_{};
  std::size_t next_ = 0;
  std::int32_t last_begun_ = -1;  // The first stream is 1.
  std::int32_t skipped_from_ = 1;
  std::int32_t skipped_to_ = 0;
};

}  // namespace damper::http
