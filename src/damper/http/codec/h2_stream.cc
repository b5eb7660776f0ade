#include "damper/http/codec/h2_stream.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/codec/h1_writer.h"
#include "damper/http/codec/h2_fields.h"
#include "damper/http/codec/h2_session.h"

namespace damper::http {

void H2Stream::send_head(const Head& head, bool end) {
  if (!live_) return;
  DAMPER_CHECK(!head_sent_);
  head_sent_ = true;
  if (!submit(head, end))
    return session_.reset_stream(*this, CloseReason::cancelled, NGHTTP2_INTERNAL_ERROR);
  if (end) ended_ = true;
  session_.notify();
}

bool H2Stream::submit(const Head& head, bool end) {
  const bool is_server = session_.is_server();
  std::optional<std::uint64_t> length = head.content_length;
  H2FieldWriter writer;
  if (is_server) {
    if (head.status < 200 || head.status > 599) return false;
    tunnel_ = connects_ && head.status / 100 == 2;
    if (tunnel_) length.reset();
    swallows_ = !tunnel_ && (is_head_ || head.status == 204 || head.status == 304);
    if (!swallows_) promised_ = end && !length ? 0 : length;
    if (head.status == 204) length.reset();
    writer.add_response(head, length);
  } else {
    if (!is_writable_request(head)) return false;
    is_head_ = head.method == "HEAD";
    connects_ = head.method == "CONNECT";
    if (connects_) length.reset();
    promised_ = length;
    if (length == 0U && (is_head_ || head.method == "GET")) length.reset();
    writer.add_request(head, length);
  }
  if (end && promised_.value_or(0) != 0) return false;
  const auto& list = writer.list();
  nghttp2_data_provider body{};
  body.read_callback = [](nghttp2_session* session, std::int32_t id, std::uint8_t* to,
                          std::size_t most, std::uint32_t* flags, nghttp2_data_source*,
                          void*) -> ssize_t {
    auto* const stream = static_cast<H2Stream*>(nghttp2_session_get_stream_user_data(session, id));
    if (stream == nullptr) return NGHTTP2_ERR_DEFERRED;  // It was given up; a reset is on its way.
    bool all = false;
    const std::size_t taken = stream->take(to, most, all);
    if (all) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      H2FieldWriter trailers;
      trailers.add_fields(stream->trailers_.view());
      if (const auto& fields = trailers.list(); !fields.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, fields.data(), fields.size());
      }
    } else if (taken == 0) {
      stream->deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(taken);
  };
  const nghttp2_data_provider* const provider = end ? nullptr : &body;
  if (tunnel_) session_.begin(body_, session_.limits_.body_timeout);
  if (is_server) {
    return nghttp2_submit_response(session_.session_, id_, list.data(), list.size(), provider) == 0;
  }
  id_ =
      nghttp2_submit_request(session_.session_, nullptr, list.data(), list.size(), provider, this);
  return id_ > 0;
}

void H2Stream::send_interim(const Head& head) {
  if (!live_ || head_sent_ || !session_.is_server() || !is_passable_interim(head)) return;
  if (!session_.has_room_for_interim()) return;
  submit_interim(head.status, head.fields);
}

void H2Stream::submit_interim(int status, std::span<const Field> fields) {
  H2FieldWriter writer;
  writer.add_response({.status = status, .fields = fields}, std::nullopt);
  const auto& list = writer.list();
  (void)nghttp2_submit_headers(session_.session_, NGHTTP2_FLAG_NONE, id_, nullptr, list.data(),
                               list.size(), nullptr);
  session_.notify();
}

std::size_t H2Stream::take(std::uint8_t* to, std::size_t most, bool& end) {
  const std::size_t taken = std::min(most, waiting());
  if (taken > 0) std::memcpy(to, unsent_.data() + unsent_begin_, taken);
  unsent_begin_ += taken;
  session_.waiting_ -= taken;
  if (tunnel_ && taken > 0) session_.begin(body_, session_.limits_.body_timeout);
  if (waiting() == 0) {
    std::string().swap(unsent_);
    unsent_begin_ = 0;
    write_.stop();
    write_rate_.stop();
  } else if (taken > 0) {
    write_rate_.add(taken);
    session_.begin(write_, session_.limits_.write_timeout);
  }
  end = ended_ && waiting() == 0;
  return taken;
}

std::size_t H2Stream::send_data(std::string_view bytes, bool end) {
  if (!live_ || ended_) return bytes.size();
  DAMPER_CHECK(head_sent_);
  std::size_t taken = bytes.size();
  if (!swallows_) {
    taken = std::min(taken, session_.room_for(*this));
    if (promised_) {
      if (taken > *promised_) {
        session_.reset_stream(*this, CloseReason::cancelled, NGHTTP2_INTERNAL_ERROR);
        return bytes.size();
      }
      *promised_ -= taken;
    }
    if (unsent_begin_ > kOwnBytes) unsent_.erase(0, std::exchange(unsent_begin_, 0));
    unsent_ += bytes.substr(0, taken);
    session_.waiting_ += taken;
    if (taken < bytes.size() && !std::exchange(wants_room_, true)) ++session_.wanting_room_;
  }
  if (end && taken == bytes.size()) end_sending();
  session_.on_waiting(*this);
  return taken;
}

void H2Stream::send_trailers(std::span<const Field> trailers) {
  if (!live_ || ended_) return;
  DAMPER_CHECK(head_sent_);
  trailers_ = FieldList(trailers);
  end_sending();
  session_.on_waiting(*this);
}

void H2Stream::end_sending() {
  ended_ = true;
  if (promised_.value_or(0) == 0) return;
  session_.reset_stream(*this, CloseReason::cancelled, NGHTTP2_INTERNAL_ERROR);
}

void H2Stream::consumed(std::size_t bytes) {
  if (!live_) return;
  bytes = std::min(bytes, unconsumed_);
  const auto is_due = [this] {
    return session_.is_body_due(*this) || session_.is_silence_due(*this);
  };
  const bool was_due = is_due();
  unconsumed_ -= bytes;
  if (!was_due && is_due()) {
    session_.begin(body_, session_.limits_.body_timeout);
    session_.begin(body_rate_);  // It was not the peer who was slow.
  }
  if (bytes > 0) nghttp2_session_consume(session_.session_, id_, bytes);
  session_.notify();
}

void H2Stream::cancel() {
  user_ = nullptr;
  if (!live_) return;
  if (tunnel_ && ended_) {  // It ends once its last byte is sent; the peer's data is discarded.
    if (std::exchange(wants_room_, false)) --session_.wanting_room_;
    if (end_sent_) session_.reset_stream(*this, CloseReason::finished, NGHTTP2_NO_ERROR);
    return;
  }
  session_.reset_stream(*this, CloseReason::cancelled,
                        tunnel_ ? NGHTTP2_CONNECT_ERROR : NGHTTP2_CANCEL);
}

Peer H2Stream::peer() { return session_.peer(); }

bool H2Stream::touched_wire() const noexcept {
  const std::uint64_t sent = session_.gathered_ - session_.output_.size();
  return wire_offset_ && sent > *wire_offset_;
}

}  // namespace damper::http
