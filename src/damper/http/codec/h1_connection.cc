#include "damper/http/codec/h1_connection.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {

H1Connection::H1Connection(const ConnectionLimits& limits, ConnectionOwner& owner, Instant now)
    : limits_(limits), owner_(owner), clock_(now), began_(now) {
  if (limits.max_age > Duration{0}) too_old_at_ = add(now, limits.max_age);
  idle_.begin(now);
}

// ---- Bytes in --------------------------------------------------------------------------------

void H1Connection::receive(std::string_view bytes, Instant now) {
  if (over_ || bytes.empty()) return;
  DAMPER_CHECK(clock_.depth() == 0);
  const CallClock::Call call(clock_, now);
  if (input_.empty()) {
    input_since_ = now;
    keep(bytes.substr(run(bytes)));
    return;
  }
  if (input_begin_ > 0) input_.erase(0, std::exchange(input_begin_, 0));
  input_ += bytes;
  go_on();
}

void H1Connection::keep(std::string_view rest) {
  if (over_ || rest.empty()) return;
  input_ = rest;
}

// Whether run() would do something without new input.
bool H1Connection::has_work() const noexcept {
  return !input_.empty() || failure_ || (user_ != nullptr && is_finished());
}

void H1Connection::go_on() {
  if (over_ || !has_work()) return;
  input_begin_ += run(std::string_view(input_).substr(input_begin_));
  if (over_ || input_begin_ == input_.size()) {
    std::string().swap(input_);
    input_begin_ = 0;
  }
}

// Repeats steps until none makes progress. Returns how many bytes it used.
std::size_t H1Connection::run(std::string_view bytes) {
  std::size_t used = 0;
  while (true) {
    if (failure_) fail(*std::exchange(failure_, std::nullopt));
    if (over_) return bytes.size();
    if (user_ != nullptr && is_finished()) {
      finish_stream();
      continue;
    }
    const std::size_t step_used = step(bytes.substr(used));
    used += step_used;
    if (step_used == 0 && !over_ && !failure_ && (user_ == nullptr || !is_finished())) return used;
  }
}

std::size_t H1Connection::step(std::string_view bytes) {
  if (bytes.empty()) return 0;
  switch (reading_) {
    case Reading::nothing:
      fail(CloseReason::malformed);  // No request is in flight.
      return 0;
    case Reading::head: return may_read_head() ? read_head(bytes) : 0;
    case Reading::body:
      return framing_in_ == H1Framing::chunked ? read_chunks(bytes) : read_body(bytes);
    case Reading::ended: break;
  }
  return 0;
}

// Back-pressure: a server stops parsing new requests while the client is not draining responses. A
// client keeps reading the response even if the server stopped reading the request.
bool H1Connection::may_read_head() const noexcept {
  return user_ != nullptr || output_.size() < limits_.max_output_bytes;
}

std::size_t H1Connection::read_body(std::string_view bytes) {
  const bool has_length = framing_in_ == H1Framing::length;
  if (has_length && body_left_ < bytes.size()) {
    bytes = bytes.substr(0, static_cast<std::size_t>(body_left_));
  }
  if (has_length) body_left_ -= bytes.size();
  if (hand_on(bytes) && has_length && body_left_ == 0) end_body({});
  return bytes.size();
}

std::size_t H1Connection::read_chunks(std::string_view bytes) {
  const H1Chunked::Fed fed = chunked_->feed(bytes);
  switch (fed.result) {
    case H1Chunked::Result::more: body_.begin(clock_); break;
    case H1Chunked::Result::data: static_cast<void>(hand_on(fed.data)); break;
    case H1Chunked::Result::end: end_body(chunked_->trailers()); break;
    case H1Chunked::Result::malformed: refuse(400, CloseReason::malformed); break;
    case H1Chunked::Result::too_large: refuse(431, CloseReason::head_too_large); break;
  }
  return fed.used;
}

// False: the stream has ended.
bool H1Connection::hand_on(std::string_view data) {
  body_.begin(clock_);
  body_rate_.add(data.size());
  if (framing_in_ == H1Framing::tunnel) {
    idle_.begin(clock_);
  } else {
    body_bytes_ += data.size();
    if (limits_.max_body_bytes != 0 && body_bytes_ > limits_.max_body_bytes) {
      refuse(413, CloseReason::body_too_large);
      return false;
    }
  }
  if (user_ == nullptr) {
    discarded_ += data.size();
    if (discarded_ > limits_.window_bytes) end_well(CloseReason::finished);
    return !over_;
  }
  unconsumed_ += data.size();
  user_->on_data(data);
  return !over_ && !failure_;
}

void H1Connection::end_body(std::string_view trailers) {
  H1Head scanned;
  if (!trailers.empty() && scanned.scan_trailers(trailers, bounds()) != H1Head::Result::complete) {
    return refuse(400, CloseReason::malformed);
  }
  body_.stop();
  reading_ = Reading::ended;
  if (user_ != nullptr) {
    user_->on_end(scanned.head().fields);
  } else {
    next_stream();
  }
  chunked_.reset();
}

void H1Connection::on_end_of_input(Instant now) {
  if (over_) return;
  const CallClock::Call call(clock_, now);
  if (failure_) return go_on();
  if (reading_ == Reading::body &&
      (framing_in_ == H1Framing::tunnel || framing_in_ == H1Framing::until_close)) {
    keep_alive_ = false;
    end_body({});
    return go_on();
  }
  if (reading_ == Reading::ended && is_tunnel()) return;
  const bool in_the_middle = user_ != nullptr || head_.is_running() || reading_ == Reading::body;
  fail(in_the_middle ? reason_of_end() : CloseReason::finished);
}

void H1Connection::abort(CloseReason reason) {
  if (over_) return;
  output_.clear();
  if (user_ != nullptr && reason == CloseReason::reset) reason = reason_of_end();
  if (clock_.depth() > 0) return fail_later(reason);
  const CallClock::Call call(clock_);
  fail(reason);
}

// ---- Heads -----------------------------------------------------------------------------------

H1Head::Bounds H1Connection::bounds() const noexcept {
  return {.max_bytes = limits_.max_head_bytes, .max_fields = limits_.max_fields};
}

// A head that arrives in many pieces is scanned once, after its last line: each byte is read a
// bounded number of times, so that dripping a head costs no more than sending it.
bool H1Connection::has_whole_head(std::string_view bytes) noexcept {
  if (scanned_ == 0 || bytes.size() > limits_.max_head_bytes) return true;
  for (std::size_t at = scanned_ > 3 ? scanned_ - 3 : 0;; ++at) {
    at = bytes.find('\n', at);
    if (at == std::string_view::npos) break;
    const std::string_view next = bytes.substr(at + 1);
    if (next.starts_with("\n") || next.starts_with("\r\n")) return true;
  }
  scanned_ = bytes.size();
  return false;
}

void H1Connection::on_partial_head(std::string_view bytes) noexcept {
  scanned_ = bytes.size();
  if (!head_.is_running()) head_.begin(clock_);
  idle_.stop();
}

void H1Connection::on_whole_head() noexcept {
  scanned_ = 0;
  head_.stop();
  idle_.stop();
}

void H1Connection::begin_stream(StreamUser& user) noexcept {
  user_ = &user;
  touched_ = false;
  exposed_ = false;
  keep_alive_ = true;
  wants_room_ = false;
  unconsumed_ = 0;
  writing_ = Writing::head;
  framing_out_ = H1Framing::none;
  framing_in_ = H1Framing::none;
  idle_.stop();
}

void H1Connection::begin_body(H1Framing framing, std::uint64_t length) {
  framing_in_ = framing;
  body_left_ = length;
  body_bytes_ = 0;
  discarded_ = 0;
  reading_ = Reading::body;
  if (framing == H1Framing::chunked) {
    chunked_.emplace(std::min<std::size_t>(limits_.max_head_bytes, std::size_t{8} * 1024));
  }
  body_.begin(clock_);
  body_rate_.begin(clock_);
  if (framing == H1Framing::tunnel) idle_.begin(clock_);
}

void H1Connection::begin_idle() noexcept {
  idle_.begin(clock_);
  if (closing_) end_well(closing_reason_);
}

// ---- Bytes out -------------------------------------------------------------------------------

std::string_view H1Connection::output() {
  notified_ = false;
  if (clock_.depth() == 0) {
    const CallClock::Call call(clock_);
    go_on();
  }
  if (writing_ != Writing::head && output_.size() > 0) exposed_ = true;
  return output_.unsent();
}

void H1Connection::sent(std::size_t bytes, Instant now) {
  const CallClock::Call call(clock_, now);
  output_.on_sent(bytes, now);
  if (bytes > 0 && writing_ != Writing::head) touched_ = true;
  if (is_tunnel() || idle_.is_running()) idle_.begin(now);
  if (wants_room_ && user_ != nullptr && output_.size() <= limits_.max_output_bytes / 2) {
    wants_room_ = false;
    user_->on_writable();
  }
  go_on();
}

void H1Connection::notify() {
  output_.on_appended(clock_);
  if (clock_.depth() > 0 || notified_) return;
  notified_ = true;
  owner_.on_change(*this);
}

void H1Connection::begin_sending(const H1Framed& framed, bool end) {
  framing_out_ = framed.framing;
  sending_left_ = framed.framing == H1Framing::length ? framed.content_length.value_or(0) : 0;
  writing_ = Writing::body;
  if (end) end_sending();
  notify();
}

std::size_t H1Connection::send_data(std::string_view bytes, bool end) {
  if (over_ || failure_ || writing_ == Writing::ended) return bytes.size();
  DAMPER_CHECK(writing_ == Writing::body);
  std::size_t taken = bytes.size();
  if (framing_out_ != H1Framing::none) {  // `none`: an answer to HEAD.
    const std::size_t room =
        limits_.max_output_bytes - std::min(output_.size(), limits_.max_output_bytes);
    if (room < taken) taken = room < std::min<std::size_t>(taken, 1024) ? 0 : room;
    if (framing_out_ == H1Framing::length) {
      if (taken > sending_left_) {  // More than Content-Length: the peer must not accept it.
        fail_later(CloseReason::cancelled);
        return bytes.size();
      }
      sending_left_ -= taken;
    }
    output_.compact(limits_.max_output_bytes / 4);
    const bool is_chunk = framing_out_ == H1Framing::chunked && taken > 0;
    if (is_chunk) append_chunk_size(output_.bytes(), taken);
    output_.bytes() += bytes.substr(0, taken);
    if (is_chunk) output_.bytes() += "\r\n";
    wants_room_ = taken < bytes.size();
  }
  if (end && taken == bytes.size()) end_sending();
  notify();
  return taken;
}

void H1Connection::send_trailers(std::span<const Field> trailers) {
  if (over_ || failure_ || writing_ == Writing::ended) return;
  DAMPER_CHECK(writing_ == Writing::body);
  if (framing_out_ == H1Framing::chunked) {
    append_last_chunk(output_.bytes(), trailers);
    writing_ = Writing::ended;
  } else {
    end_sending();  // Only chunked framing has trailers.
  }
  notify();
}

void H1Connection::end_sending() {
  if (framing_out_ == H1Framing::chunked) output_.bytes() += "0\r\n\r\n";
  if (sending_left_ > 0) return fail_later(CloseReason::cancelled);
  writing_ = Writing::ended;
}

void H1Connection::consumed(std::size_t bytes) {
  const bool had_window = has_window();
  unconsumed_ -= std::min(bytes, unconsumed_);
  if (had_window || !has_window()) return;
  body_.begin(clock_);
  body_rate_.begin(clock_);  // The window was closed: the peer was not slow.
  if (is_tunnel()) idle_.begin(clock_);
  notify();
}

// ---- Ends ------------------------------------------------------------------------------------

void H1Connection::finish_stream() {
  StreamUser* const user = std::exchange(user_, nullptr);
  unconsumed_ = 0;
  if (is_tunnel()) {
    end_well(CloseReason::finished);
  } else {
    next_stream();
  }
  user->on_close(CloseReason::finished);
}

void H1Connection::end_well(CloseReason reason) noexcept {
  over_ = true;
  reason_ = reason;
}

void H1Connection::fail(CloseReason reason) {
  if (over_) return;
  end_well(reason);
  if (StreamUser* const user = std::exchange(user_, nullptr)) user->on_close(reason);
}

void H1Connection::fail_later(CloseReason reason) {
  if (!over_ && !failure_) failure_ = reason;
  notify();
}

void H1Connection::cancel() {
  if (user_ == nullptr) return;
  user_ = nullptr;
  on_cancel();
  notify();
}

void H1Connection::drain() {
  if (over_) return;
  close_if_idle(CloseReason::draining);
  notify();
}

// No further stream: over now if none is in flight and no input is buffered.
void H1Connection::close_if_idle(CloseReason reason) {
  closing_ = true;
  closing_reason_ = reason;
  if (user_ == nullptr && input_.empty() && reading_ != Reading::body) end_well(reason);
}

// ---- Time ------------------------------------------------------------------------------------

bool H1Connection::is_body_due() const noexcept {
  return reading_ == Reading::body && framing_in_ != H1Framing::tunnel && has_window();
}

bool H1Connection::wants_input() const noexcept {
  if (over_) return false;
  switch (reading_) {
    case Reading::nothing: return true;
    case Reading::head: return may_read_head();
    case Reading::body: return has_window();
    case Reading::ended: break;
  }
  return input_.size() - input_begin_ < kLookaheadBytes;  // Also to detect a disconnect.
}

Instant H1Connection::deadline() const noexcept {
  Instant due = output_.deadline(limits_);
  if (over_) return due;
  if (is_silence_due()) due = std::min(due, idle_.due(silence()));
  due = std::min(due, head_.due(limits_.head_timeout));
  if (is_body_due()) {
    due = std::min({due, body_.due(limits_.body_timeout), body_rate_.due(limits_.message_timeout)});
  }
  return std::min(due, too_old_at_);
}

void H1Connection::on_timer(Instant now) {
  const CallClock::Call call(clock_, now);
  if (output_.has_expired(now, limits_)) {
    output_.clear();
    return fail(CloseReason::write_timeout);
  }
  if (over_) return;
  if (head_.has_expired(now, limits_.head_timeout)) return refuse(408, CloseReason::head_timeout);
  if (is_body_due() && (body_.has_expired(now, limits_.body_timeout) ||
                        body_rate_.has_expired(now, limits_.message_timeout))) {
    return refuse(408, CloseReason::body_timeout);
  }
  if (is_silence_due() && idle_.has_expired(now, silence())) {
    return fail(CloseReason::idle_timeout);
  }
  if (now >= too_old_at_) {
    too_old_at_ = kNever;
    close_if_idle(CloseReason::too_old);
  }
  go_on();
}

}  // namespace damper::http
