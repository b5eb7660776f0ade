#include "damper/http/codec/h2_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {
namespace {

std::string_view view(const std::uint8_t* bytes, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(bytes), size};
}

bool expects_continue(const Head& head) noexcept {
  const auto expected = find(head.fields, "expect");
  return expected && same_name(*expected, "100-continue");
}

bool has_end(const nghttp2_frame_hd& head) noexcept {
  return (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

struct H2Session::Callbacks {
  static H2Session& self(void* user_data) noexcept { return *static_cast<H2Session*>(user_data); }

  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user_data) {
    H2Session& session = self(user_data);
    if (session.failure_) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (head->type != NGHTTP2_CONTINUATION) session.head_.stop();  // Whatever became of the last.
    switch (head->type) {
      case NGHTTP2_HEADERS:
        return session.check_stream_of(head->stream_id, true) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
      case NGHTTP2_DATA:          // Empty ones are counted when they are over.
      case NGHTTP2_CONTINUATION:  // nghttp2 bounds these.
      case NGHTTP2_GOAWAY: return 0;
      case NGHTTP2_WINDOW_UPDATE:
        if (session.earned_updates_ > 0) {
          --session.earned_updates_;
          return 0;
        }
        break;
      case NGHTTP2_RST_STREAM:
        if (!session.is_server()) return 0;  // Of a stream that we began.
        break;
      default: break;
    }
    return session.count_idle_frame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_begin_headers(nghttp2_session* nghttp2, const nghttp2_frame* frame,
                              void* user_data) {
    H2Session& session = self(user_data);
    session.reader_.emplace(session.limits_.max_head_bytes, session.limits_.max_fields);
    session.head_.begin(session.clock_);
    if (!session.is_server() || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    H2Stream& stream = session.add_stream(session.clock_.now());
    stream.id_ = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(nghttp2, stream.id_, &stream);
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user_data) {
    if (auto& reader = self(user_data).reader_) {
      reader->add(view(name, name_size), view(value, value_size));
    }
    return 0;
  }

  // What nghttp2 would leave out without a word is no HTTP.
  static int on_invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*,
                               std::size_t, const std::uint8_t*, std::size_t, std::uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    H2Session& session = self(user_data);
    H2Stream* const stream = session.find_stream(frame->hd.stream_id);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        session.head_.stop();
        if (stream != nullptr && session.reader_) session.on_headers(*stream, has_end(frame->hd));
        session.reader_.reset();
        break;
      case NGHTTP2_DATA:
        if (has_end(frame->hd)) {
          if (stream != nullptr) session.on_peer_end(*stream, {});
        } else if (frame->hd.length == frame->data.padlen && !session.count_idle_frame()) {
          return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        break;
      case NGHTTP2_RST_STREAM:
        if (stream != nullptr) {
          stream->peer_reset_ = true;
        } else {
          std::erase_if(session.lingering_,
                        [&](const auto& one) { return one.id == frame->hd.stream_id; });
          session.ended_streams_.on_closed(frame->hd.stream_id, true);
        }
        break;
      case NGHTTP2_GOAWAY: session.retiring_ = true; break;
      default: break;
    }
    return 0;
  }

  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int, void* user_data) {
    H2Session& session = self(user_data);
    if (frame->hd.type == NGHTTP2_HEADERS) {
      session.head_.stop();
      session.reader_.reset();
    }
    return session.count_idle_frame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // Frames of an unknown type pass here to be counted, and are ignored.
  static int on_unknown_frame(nghttp2_session*, void**, const nghttp2_frame_hd*, void*) {
    return NGHTTP2_ERR_CANCEL;
  }

  static int on_data_chunk(nghttp2_session*, std::uint8_t, std::int32_t id,
                           const std::uint8_t* data, std::size_t size, void* user_data) {
    H2Session& session = self(user_data);
    session.on_data(session.find_stream(id), id, view(data, size));
    return 0;
  }

  static int before_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    H2Session& session = self(user_data);
    H2Stream* const stream = session.find_stream(frame->hd.stream_id);
    if (stream != nullptr && !stream->wire_offset_) stream->wire_offset_ = session.gathered_;
    return 0;
  }

  static int on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    self(user_data).on_frame_sent(*frame);
    return 0;
  }

  static int on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    H2Session& session = self(user_data);
    for (const auto& stream : session.streams_) {  // nghttp2 may not know it yet.
      if (stream->id_ != frame->hd.stream_id) continue;
      if (!session.is_server() && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        session.close_stream(*stream, CloseReason::refused);
      } else {  // Trailers: the request has gone out without them.
        session.reset_stream(*stream, CloseReason::cancelled, NGHTTP2_INTERNAL_ERROR);
      }
    }
    return 0;
  }

  static int on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t code,
                             void* user_data) {
    H2Session& session = self(user_data);
    if (H2Stream* const stream = session.find_stream(id)) {
      session.on_stream_closed(*stream, code);
    } else if (std::erase_if(session.lingering_, [&](const auto& one) { return one.id == id; }) >
                   0 &&
               code == NGHTTP2_NO_ERROR) {
      session.ended_streams_.on_closed(id, false);
    }
    return 0;
  }
};

// What all sessions are made with. nghttp2 copies it.
struct H2Session::Setup {
  Setup() {
    DAMPER_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    DAMPER_CHECK(nghttp2_option_new(&option) == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, Callbacks::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks,
                                                             Callbacks::on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame_recv);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks,
                                                                 Callbacks::on_invalid_frame);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, Callbacks::on_unknown_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data_chunk);
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks,
                                                             Callbacks::before_frame_send);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks,
                                                             Callbacks::on_frame_not_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_stream_close);
    for (int type = NGHTTP2_CONTINUATION + 1; type <= 255; ++type) {
      nghttp2_option_set_user_recv_extension_type(option, static_cast<std::uint8_t>(type));
    }
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_settings(option, 32);
    nghttp2_option_set_max_outbound_ack(option, 1000);
    nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000'000, 1'000'000'000);  // We count.
  }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  ~Setup() {
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
  }

  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
};

void H2Session::configure() {
  static const Setup kSetup;
  const int made =
      is_server() ? nghttp2_session_server_new2(&session_, kSetup.callbacks, this, kSetup.option)
                  : nghttp2_session_client_new2(&session_, kSetup.callbacks, this, kSetup.option);
  DAMPER_CHECK(made == 0);

  const auto window = static_cast<std::uint32_t>(limits_.window_bytes);
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits_.max_head_bytes)}};
  if (is_server()) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  DAMPER_CHECK(
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  // A stream that is not read must not stop the others: the connection has room for several.
  const std::uint64_t whole =
      std::uint64_t{window} * std::clamp<std::uint64_t>(limits_.max_streams, 1, 16);
  DAMPER_CHECK(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                                     static_cast<std::int32_t>(whole)) == 0);
}

// ---- Messages --------------------------------------------------------------------------------

// Whether the connection continues after a frame of HEADERS (`begins`) or DATA.
bool H2Session::check_stream_of(std::int32_t id, bool begins) noexcept {
  if (!is_server()) return true;
  switch (ended_streams_.on_frame(id, begins)) {
    case EndedStreams::Error::none: return true;
    case EndedStreams::Error::reset:
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_STREAM_CLOSED);
      return count_idle_frame();
    case EndedStreams::Error::ended: failure_code_ = NGHTTP2_STREAM_CLOSED; break;
    case EndedStreams::Error::skipped: failure_code_ = NGHTTP2_PROTOCOL_ERROR; break;
  }
  failure_ = CloseReason::malformed;
  return false;
}

bool H2Session::check_data(const DataHeads::Head& head) noexcept {
  if (!head.has_bad_padding) return check_stream_of(head.id, false);
  failure_ = CloseReason::malformed;
  failure_code_ = NGHTTP2_PROTOCOL_ERROR;
  return false;
}

void H2Session::on_headers(H2Stream& stream, bool end) {
  if (stream.head_came_) {
    Head trailers;
    const bool is_tunnels = is_server() ? stream.connects_ : stream.tunnel_;
    if (is_tunnels || reader_->read_trailers(trailers) != H2FieldReader::State::good) {
      return reset_stream(stream, CloseReason::malformed, NGHTTP2_PROTOCOL_ERROR);
    }
    if (end) on_peer_end(stream, trailers.fields);
  } else if (is_server()) {
    on_request_head(stream, end);
  } else {
    on_response_head(stream, end);
  }
}

void H2Session::on_request_head(H2Stream& stream, bool end) {
  Head head;
  switch (reader_->read_request(head)) {
    case H2FieldReader::State::malformed:
      return reset_stream(stream, CloseReason::malformed, NGHTTP2_PROTOCOL_ERROR);
    case H2FieldReader::State::too_large:
      return refuse(stream, 431, CloseReason::head_too_large, end);
    case H2FieldReader::State::good: break;
  }
  if (limits_.max_body_bytes != 0 && head.content_length.value_or(0) > limits_.max_body_bytes) {
    return refuse(stream, 413, CloseReason::body_too_large, end);
  }
  stream.head_came_ = true;
  stream.peer_ended_ = end;
  stream.is_head_ = head.method == "HEAD";
  stream.connects_ = head.method == "CONNECT";
  if (!end) {
    begin(stream.body_, limits_.body_timeout);
    begin(stream.body_rate_);
  }
  const bool awaits_continue = !end && expects_continue(head);
  stream.user_ = &sink_->on_request(stream);
  stream.user_->on_head(head, end && !stream.connects_);
  if (end && stream.connects_ && stream.user_ != nullptr) stream.user_->on_end({});
  if (awaits_continue && stream.live_ && !stream.head_sent_) stream.submit_interim(100, {});
}

void H2Session::report_refused(int status, CloseReason reason, Instant began) {
  sink_->on_refused(
      {.peer = peer(), .status = status, .reason = reason, .began = began, .now = clock_.now()});
}

// Without a user: what is left of the request is thrown away, and the stream reset when the answer
// has been written.
void H2Session::refuse(H2Stream& stream, int status, CloseReason reason, bool end) {
  report_refused(status, reason, stream.began());
  stream.head_came_ = true;
  stream.peer_ended_ = end;
  stream.send_head({.status = status}, true);
}

void H2Session::on_response_head(H2Stream& stream, bool end) {
  Head head;
  switch (reader_->read_response(head)) {
    case H2FieldReader::State::malformed:
      return reset_stream(stream, CloseReason::malformed, NGHTTP2_PROTOCOL_ERROR);
    case H2FieldReader::State::too_large:
      return reset_stream(stream, CloseReason::head_too_large, NGHTTP2_CANCEL);
    case H2FieldReader::State::good: break;
  }
  if (head.status < 200) {
    if (++stream.interim_ > kMostInterim) {
      reset_stream(stream, CloseReason::flood, NGHTTP2_ENHANCE_YOUR_CALM);
    } else if (is_passable_interim(head)) {
      stream.user_->on_interim(head);
    }
    return;
  }
  stream.tunnel_ = stream.connects_ && head.status / 100 == 2;
  const bool has_body =
      !stream.tunnel_ && !stream.is_head_ && head.status != 204 && head.status != 304;
  if (has_body && limits_.max_body_bytes != 0 &&
      head.content_length.value_or(0) > limits_.max_body_bytes) {
    return reset_stream(stream, CloseReason::body_too_large, NGHTTP2_CANCEL);
  }
  stream.head_came_ = true;
  stream.peer_ended_ = end;
  if (!end) {
    begin(stream.body_, limits_.body_timeout);
    begin(stream.body_rate_);
  }
  stream.user_->on_head(head, end && !stream.tunnel_);
  if (stream.tunnel_) {
    if (end && stream.user_ != nullptr) stream.user_->on_end({});
  } else if (end && stream.live_ && !stream.ended_) {  // It needs no more of the request.
    reset_stream(stream, CloseReason::finished, NGHTTP2_NO_ERROR);
  }
}

void H2Session::on_data(H2Stream* stream, std::int32_t, std::string_view data) {
  if (stream == nullptr || stream->user_ == nullptr) {
    nghttp2_session_consume_connection(session_, data.size());
    return;
  }
  stream->unconsumed_ += data.size();
  stream->body_bytes_ += data.size();
  const bool is_tunnels = stream->tunnel_ || (stream->connects_ && is_server());
  if (!is_tunnels && limits_.max_body_bytes != 0 && stream->body_bytes_ > limits_.max_body_bytes) {
    return reset_stream(*stream, CloseReason::body_too_large, NGHTTP2_CANCEL);
  }
  begin(stream->body_, limits_.body_timeout);
  stream->body_rate_.add(data.size());
  stream->user_->on_data(data);
}

void H2Session::on_peer_end(H2Stream& stream, std::span<const Field> trailers) {
  if (!stream.live_ || stream.peer_ended_) return;
  if (!stream.head_came_) {
    return reset_stream(stream, CloseReason::malformed, NGHTTP2_PROTOCOL_ERROR);
  }
  stream.peer_ended_ = true;
  if (stream.user_ != nullptr) stream.user_->on_end(trailers);
  if (!is_server() && stream.live_ && !stream.ended_ && !stream.tunnel_) {
    reset_stream(stream, CloseReason::finished, NGHTTP2_NO_ERROR);
  }
}

void H2Session::on_frame_sent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_DATA) earned_updates_ += 2;
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code != NGHTTP2_NO_ERROR) {
    reason_ = failure_.value_or(frame.goaway.error_code == NGHTTP2_ENHANCE_YOUR_CALM
                                    ? CloseReason::flood
                                    : CloseReason::malformed);
    if (is_server()) report_refused(0, reason_, clock_.now());
  }
  if ((frame.hd.type != NGHTTP2_DATA && frame.hd.type != NGHTTP2_HEADERS) || !has_end(frame.hd)) {
    return;
  }
  H2Stream* const stream = find_stream(frame.hd.stream_id);
  if (stream == nullptr) return;
  stream->end_sent_ = true;
  // A complete response ends the exchange; a tunnel ends on both sides, unless it has no user.
  if (stream->peer_ended_) return;
  if (stream->tunnel_) {
    if (stream->user_ == nullptr) reset_stream(*stream, CloseReason::finished, NGHTTP2_NO_ERROR);
  } else if (is_server()) {
    linger(*stream);
  }
}

void H2Session::on_stream_closed(H2Stream& stream, std::uint32_t code) {
  if (is_server() && (stream.peer_reset_ || stream.peer_ended_)) {
    ended_streams_.on_closed(stream.id_, stream.peer_reset_);
  }
  const bool sent = stream.end_sent_ || (!is_server() && !stream.tunnel_);
  const bool received =
      (stream.peer_ended_ && stream.head_came_) || (is_server() && !stream.tunnel_);
  if (sent && received) {
    return close_stream(stream, CloseReason::finished);
  }
  if (!is_server() && code == NGHTTP2_REFUSED_STREAM) {
    return close_stream(stream, CloseReason::refused);
  }
  const bool ours = !stream.peer_reset_ && code != NGHTTP2_NO_ERROR && code != NGHTTP2_CANCEL;
  close_stream(stream, ours ? CloseReason::malformed : CloseReason::reset);
}

// ---- Streams ---------------------------------------------------------------------------------

H2Stream& H2Session::add_stream(Instant began) {
  streams_.push_back(std::make_unique<H2Stream>(*this, began));
  ++live_streams_;
  return *streams_.back();
}

H2Stream* H2Session::find_stream(std::int32_t id) const noexcept {
  if (id <= 0) return nullptr;
  return static_cast<H2Stream*>(nghttp2_session_get_stream_user_data(session_, id));
}

void H2Session::close_stream(H2Stream& stream, CloseReason reason) {
  if (!std::exchange(stream.live_, false)) return;
  stream.reason_ = reason;
  count_end(stream, reason);
  // An error that the reader of fields or nghttp2 found. (What ends the connection is reported for
  // it.)
  if (is_server() && !stream.head_came_ && reason == CloseReason::malformed && !over_) {
    report_refused(0, reason, stream.began());
  }
  if (stream.id_ > 0) nghttp2_session_set_stream_user_data(session_, stream.id_, nullptr);
  if (stream.unconsumed_ > 0) nghttp2_session_consume_connection(session_, stream.unconsumed_);
  if (stream.wants_room_) --wanting_room_;
  waiting_ -= stream.waiting();
  std::string().swap(stream.unsent_);
  stream.unsent_begin_ = 0;
  if (--live_streams_ == 0) idle_.begin(clock_);
  closed_.push_back(&stream);
}

void H2Session::reset_stream(H2Stream& stream, CloseReason reason, std::uint32_t code) {
  if (!stream.live_) return;
  if (stream.id_ > 0) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, code);
  }
  close_stream(stream, reason);
  notify();
}

void H2Session::close_all(CloseReason reason) {
  for (const auto& stream : streams_) {
    const bool unseen = !is_server() && reason == CloseReason::reset && !stream->touched_wire();
    close_stream(*stream, unseen ? CloseReason::refused : reason);
  }
}

void H2Session::on_waiting(H2Stream& stream) {
  if (!stream.live_) return;
  if (stream.waiting() > 0 && !stream.write_.is_running()) {
    begin(stream.write_, limits_.write_timeout);
    begin(stream.write_rate_);
  }
  if (std::exchange(stream.deferred_, false)) nghttp2_session_resume_data(session_, stream.id_);
  notify();
}

// Whether a tunnel's peer may send: a full window is the consumer's fault, and has its own timer.
bool H2Session::is_silence_due(const H2Stream& stream) const noexcept {
  return stream.tunnel_ && stream.unconsumed_ < limits_.window_bytes;
}

bool H2Session::is_body_due(const H2Stream& stream) const noexcept {
  const bool is_tunnels = stream.tunnel_ || (stream.connects_ && is_server());
  return stream.user_ != nullptr && stream.head_came_ && !stream.peer_ended_ && !is_tunnels &&
         stream.unconsumed_ < limits_.window_bytes;
}

std::size_t H2Session::room_for(const H2Stream& stream) const noexcept {
  const std::size_t whole = limits_.max_output_bytes - std::min(limits_.max_output_bytes, waiting_);
  const std::size_t own = H2Stream::kOwnBytes - std::min(H2Stream::kOwnBytes, stream.waiting());
  return std::max(whole, own);
}

}  // namespace damper::http
