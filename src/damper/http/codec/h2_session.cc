#include "damper/http/codec/h2_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {

// A call into the session. The outermost one settles at its end.
class H2Session::Call {
 public:
  Call(H2Session& session, Instant now) noexcept : session_(session), call_(session.clock_, now) {}
  explicit Call(H2Session& session) noexcept : session_(session), call_(session.clock_) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (session_.clock_.depth() == 1) session_.settle();
  }

 private:
  H2Session& session_;
  const CallClock::Call call_;
};

H2Session::H2Session(const ConnectionLimits& limits, ConnectionOwner& owner, RequestSink* sink,
                     Instant now)
    : limits_(limits),
      owner_(owner),
      sink_(sink),
      clock_(now),
      counted_since_(now),
      resets_(limits.max_resets_per_second) {
  if (limits.max_age > Duration{0}) too_old_at_ = add(now, limits.max_age);
  idle_.begin(now);
  configure();
}

H2Session::~H2Session() { nghttp2_session_del(session_); }

// ---- Bytes in and out ------------------------------------------------------------------------

void H2Session::receive(std::string_view bytes, Instant now) {
  if (over_ || bytes.empty()) return;
  DAMPER_CHECK(clock_.depth() == 0);
  const Call call(*this, now);
  if (is_server()) {
    std::size_t at = 0;
    std::size_t fed = 0;
    while (const auto data = data_heads_.find_next(bytes, at)) {
      // The frames before it decide whether its stream is closed.
      if (!feed(bytes.substr(fed, data->before - fed))) return;
      fed = data->before;
      if (!check_data(*data)) return fail(*failure_, failure_code_);
    }
    bytes.remove_prefix(fed);
  }
  // A stream that nghttp2 resets closes in gather(). Its user is to know before the owner goes on:
  // a request that was in the same read does not reach the upstream then.
  if (feed(bytes)) gather();
}

bool H2Session::feed(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used >= 0) return !over_;
  switch (used) {
    case NGHTTP2_ERR_FLOODED: fail(CloseReason::flood, NGHTTP2_ENHANCE_YOUR_CALM); break;
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
      fail(CloseReason::head_too_large, NGHTTP2_ENHANCE_YOUR_CALM);
      break;
    case NGHTTP2_ERR_CALLBACK_FAILURE:
      fail(failure_.value_or(CloseReason::flood), failure_code_);
      break;
    default: fail(CloseReason::malformed, NGHTTP2_PROTOCOL_ERROR); break;
  }
  return false;
}

void H2Session::on_end_of_input(Instant now) {
  if (over_) return;
  const Call call(*this, now);
  reason_ = streams_.empty() ? CloseReason::finished : CloseReason::reset;
  over_ = true;
  close_all(CloseReason::reset);
}

void H2Session::abort(CloseReason reason) {
  if (over_) return;
  const Call call(*this);
  reason_ = reason;
  over_ = true;
  close_all(reason);
  output_.clear();
}

std::string_view H2Session::output() {
  notified_ = false;
  if (clock_.depth() == 0) {
    {
      const Call call(*this);
      gather();
    }
    const Call call(*this);  // What the users have said since.
    gather();
  }
  return output_.unsent();
}

void H2Session::gather() {
  while (!over_ && output_.size() < kGatherBytes) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) {
      reason_ = CloseReason::malformed;
      over_ = true;
      close_all(CloseReason::malformed);
    }
    if (size <= 0) break;
    output_.bytes().append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    gathered_ += static_cast<std::uint64_t>(size);
  }
  output_.on_appended(clock_);
}

void H2Session::sent(std::size_t bytes, Instant now) {
  const Call call(*this, now);
  output_.on_sent(bytes, now);
}

bool H2Session::wants_input() const noexcept {
  // Not less while output waits: two ends that both stop reading would wait for ever.
  return !over_ && nghttp2_session_get_outbound_queue_size(session_) < kMostQueued &&
         nghttp2_session_want_read(session_) != 0;
}

Peer H2Session::peer() {
  Peer peer = owner_.peer();
  peer.protocol = "HTTP/2";
  return peer;
}

void H2Session::notify() {
  if (clock_.depth() > 0 || notified_) return;
  notified_ = true;
  owner_.on_change(*this);
}

// ---- Ends ------------------------------------------------------------------------------------

// Ends the connection with a GOAWAY.
void H2Session::fail(CloseReason reason, std::uint32_t code) {
  if (over_) return;
  failure_ = reason;
  nghttp2_session_terminate_session(session_, code);
  gather();
  reason_ = reason;
  over_ = true;
  close_all(reason);
}

void H2Session::linger(H2Stream& stream) {
  if (retiring_) return reset_stream(stream, CloseReason::finished, NGHTTP2_NO_ERROR);
  const Instant until = add(clock_.now(), kLinger);
  lingering_.push_back({stream.id_, until});
  check_at_ = std::min(check_at_, until);
  close_stream(stream, CloseReason::finished);
}

// Resets those whose time is over by `now`.
void H2Session::end_lingering(Instant now) {
  std::erase_if(lingering_, [&](const Lingering& one) {
    if (now < one.until) {
      check_at_ = std::min(check_at_, one.until);
      return false;
    }
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, one.id, NGHTTP2_NO_ERROR);
    return true;
  });
}

// No new streams; over with the last one.
void H2Session::retire(CloseReason reason) {
  if (std::exchange(retiring_, true)) return;
  end_lingering(Instant::max());
  reason_ = reason;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void H2Session::drain() {
  if (over_) return;
  {
    const Call call(*this);
    retire(CloseReason::draining);
  }
  notify();
}

// Tells the users what came up during the call.
void H2Session::settle() {
  if (failure_) fail(*failure_, failure_code_);
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    H2Stream* const stream = closed_[i];
    if (StreamUser* const user = std::exchange(stream->user_, nullptr)) {
      user->on_close(stream->reason_);
    }
    std::erase_if(streams_, [&](const auto& owned) { return owned.get() == stream; });
  }
  closed_.clear();
  if (wanting_room_ > 0) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      H2Stream& stream = *streams_[i];
      if (!stream.live_ || !stream.wants_room_ || stream.waiting() > H2Stream::kOwnBytes / 2) {
        continue;
      }
      stream.wants_room_ = false;
      --wanting_room_;
      stream.user_->on_writable();
    }
  }
  if (!closed_.empty()) settle();
  look_for_the_end();
}

void H2Session::look_for_the_end() {
  if (over_) return;
  const bool silent =
      nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  const bool retired = retiring_ && streams_.empty() && nghttp2_session_want_write(session_) == 0;
  if (!silent && !retired) return;
  over_ = true;
  if (!streams_.empty()) {
    close_all(reason_ == CloseReason::finished ? CloseReason::reset : reason_);
    settle();
  }
}

// ---- Floods ----------------------------------------------------------------------------------

// Whether one more is fine.
bool H2Session::count_idle_frame() noexcept {
  if (between(counted_since_, clock_.now()) >= std::chrono::seconds(1)) {
    counted_since_ = clock_.now();
    idle_frames_ = 0;
  }
  if (++idle_frames_ <= limits_.max_idle_frames_per_second) return true;
  failure_ = CloseReason::flood;
  return false;
}

void H2Session::count_end(const H2Stream& stream, CloseReason reason) noexcept {
  if (!is_server() || over_) return;
  switch (reason) {
    case CloseReason::finished: return resets_.on_answer();
    case CloseReason::reset:  // With any code: NO_ERROR before the answer's end is a reset, too.
      if (!resets_.try_reset(stream.began_, clock_.now())) failure_ = CloseReason::flood;
      return;
    case CloseReason::malformed:
    case CloseReason::body_too_large:
      if (!resets_.try_error(clock_.now())) failure_ = CloseReason::flood;
      return;
    default: return;  // Our own doing, or that of a timer.
  }
}

// ---- Time ------------------------------------------------------------------------------------

void H2Session::begin(StallTimer& timer, Duration limit) noexcept {
  timer.begin(clock_);
  check_at_ = std::min(check_at_, timer.due(limit));
}

void H2Session::begin(MinRateTimer& timer) noexcept {
  timer.begin(clock_);
  check_at_ = std::min(check_at_, timer.due(limits_.message_timeout));
}

Instant H2Session::deadline() const noexcept {
  Instant due = output_.deadline(limits_);
  if (over_) return due;
  if (live_streams_ == 0) due = std::min(due, idle_.due(limits_.idle_timeout));
  due = std::min(due, head_.due(limits_.head_timeout));
  return std::min({due, check_at_, too_old_at_});
}

void H2Session::on_timer(Instant now) {
  const Call call(*this, now);
  if (output_.has_expired(now, limits_)) {
    if (!over_) {
      reason_ = CloseReason::write_timeout;
      over_ = true;
      close_all(CloseReason::write_timeout);
    }
    return output_.clear();
  }
  if (over_) return;
  if (head_.has_expired(now, limits_.head_timeout)) {
    return fail(CloseReason::head_timeout, NGHTTP2_ENHANCE_YOUR_CALM);
  }
  if (live_streams_ == 0 && idle_.has_expired(now, limits_.idle_timeout)) {
    return fail(CloseReason::idle_timeout, NGHTTP2_NO_ERROR);
  }
  if (now >= check_at_) check_streams(now);
  if (now >= too_old_at_) {
    too_old_at_ = kNever;
    retire(CloseReason::too_old);
  }
}

bool H2Session::has_room_for_interim() const noexcept {
  return output_.size() < kGatherBytes &&
         nghttp2_session_get_outbound_queue_size(session_) < kMostInterimQueued;
}

void H2Session::check_streams(Instant now) {
  check_at_ = kNever;
  end_lingering(now);
  for (const auto& stream : streams_) {
    if (!stream->live_) continue;
    if (is_body_due(*stream) && (stream->body_.has_expired(now, limits_.body_timeout) ||
                                 stream->body_rate_.has_expired(now, limits_.message_timeout))) {
      reset_stream(*stream, CloseReason::body_timeout, NGHTTP2_CANCEL);
    } else if (stream->write_.has_expired(now, limits_.write_timeout) ||
               stream->write_rate_.has_expired(now, limits_.message_timeout)) {
      reset_stream(*stream, CloseReason::write_timeout, NGHTTP2_CANCEL);
    } else if (is_silence_due(*stream) && stream->body_.has_expired(now, limits_.body_timeout)) {
      reset_stream(*stream, CloseReason::idle_timeout, NGHTTP2_CONNECT_ERROR);
    } else {
      if (is_silence_due(*stream)) {
        check_at_ = std::min(check_at_, stream->body_.due(limits_.body_timeout));
      }
      if (is_body_due(*stream)) {
        check_at_ = std::min({check_at_, stream->body_.due(limits_.body_timeout),
                              stream->body_rate_.due(limits_.message_timeout)});
      }
      check_at_ = std::min({check_at_, stream->write_.due(limits_.write_timeout),
                            stream->write_rate_.due(limits_.message_timeout)});
    }
  }
}

// ---- A client's streams ----------------------------------------------------------------------

bool H2Session::can_open() const noexcept {
  if (is_server() || over_ || retiring_) return false;
  const std::uint32_t most = std::min(
      limits_.max_streams,
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS));
  return live_streams_ < most && nghttp2_session_check_request_allowed(session_) != 0;
}

Stream& H2Session::open(StreamUser& user, Instant now) {
  DAMPER_CHECK(can_open());
  clock_.set(now);
  H2Stream& stream = add_stream(now);
  stream.user_ = &user;
  return stream;
}

std::unique_ptr<Connection> make_h2_server(const ConnectionLimits& limits, ConnectionOwner& owner,
                                           RequestSink& sink, Instant now) {
  return std::make_unique<H2Session>(limits, owner, &sink, now);
}

std::unique_ptr<Connection> make_h2_client(const ConnectionLimits& limits, ConnectionOwner& owner,
                                           Instant now) {
  return std::make_unique<H2Session>(limits, owner, nullptr, now);
}

}  // namespace damper::http
