#pragma once

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

}  // namespace damper::http
