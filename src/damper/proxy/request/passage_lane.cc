#include "damper/proxy/request/passage_lane.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/proxy/request/passage.h"

namespace damper::proxy {

void PassageLane::start(const engine::Attempt& attempt, const Upstream::Place& place) {
  DAMPER_CHECK(is_free() && !is_under_way());
  attempt_ = attempt;
  place_ = place;
  state_ = State::asking;
  taken_ = 0;
  end_taken_ = false;
  answered_ = false;
  whole_ = false;
  reopenings_ = 0;
  report_ = {};
  place_.pool->open(*this);
}

void PassageLane::release(bool late) {
  late ? cancel_late() : cancel();
  stream_ = nullptr;
  state_ = State::free;
  live_ = nullptr;
  head_.clear();
  trailers_.clear();
  if (body_.capacity() > KeptHead::kKeptBytes) {
    std::string().swap(body_);
  } else {
    body_.clear();
  }
  body_begin_ = 0;
  owed_ = 0;
  place_ = {};
}

// ---- The request -----------------------------------------------------------------------------

void PassageLane::on_open(http::Stream& stream) {
  stream_ = &stream;
  taken_ = 0;
  end_taken_ = passage_.has_no_body();
  const bool stays_open = passage_.connects() && pool().protocol() == http::Protocol::h2;
  stream.send_head(passage_.head_for(*this), end_taken_ && !stays_open);
  if (end_taken_) return;
  pump();
  passage_.on_body_taken();
}

bool PassageLane::takes_more() const noexcept {
  return stream_ != nullptr && !end_taken_ && state_ != State::failed &&
         taken_ >= passage_.body().begin();
}

void PassageLane::pump() {
  if (!takes_more()) return;
  const KeptBody& body = passage_.body();
  const std::string_view rest = body.from(taken_);
  const bool ends = body.has_ended();
  const std::span<const http::Field> trailers = passage_.request_trailers();
  if (!rest.empty() || (ends && trailers.empty())) {
    const std::size_t took = stream_->send_data(rest, ends && trailers.empty());
    taken_ += took;
    if (took < rest.size()) return;
  }
  if (!ends) return;
  end_taken_ = true;
  if (!trailers.empty()) stream_->send_trailers(trailers);
}

void PassageLane::begin_tunnel() noexcept {
  taken_ = 0;
  end_taken_ = false;
}

void PassageLane::on_writable() {
  pump();
  passage_.on_body_taken();
}

// ---- The answer ------------------------------------------------------------------------------

void PassageLane::on_interim(const http::Head& head) { passage_.on_interim_answer(*this, head); }

void PassageLane::on_head(const http::Head& head, bool end) {
  answered_ = true;
  whole_ = end;
  passage_.on_answer(*this, head);
}

void PassageLane::on_data(std::string_view bytes) { passage_.on_answer_data(*this, bytes); }

void PassageLane::on_end(std::span<const http::Field> trailers) {
  whole_ = true;
  if (!trailers.empty()) trailers_.keep(trailers);
  passage_.on_answer_end(*this);
}

void PassageLane::keep(std::string_view bytes, bool take) {
  body_ += bytes;
  if (take) {
    stream_->consumed(bytes.size());
  } else {
    owed_ += bytes.size();
  }
}

void PassageLane::on_passed(std::size_t bytes) {
  body_begin_ += bytes;
  if (body_begin_ == body_.size()) {
    body_.clear();
    body_begin_ = 0;
  }
  const std::size_t taken = std::min(bytes, owed_);
  owed_ -= taken;
  if (taken > 0 && stream_ != nullptr) stream_->consumed(taken);
}

void PassageLane::take_at_once(std::size_t bytes) { stream_->consumed(bytes); }

void PassageLane::on_over(http::CloseReason reason, bool unsent) {
  const bool had_stream = std::exchange(stream_, nullptr) != nullptr;
  if (unsent && had_stream && reason == http::CloseReason::refused && state_ == State::asking &&
      reopenings_ < kReopenings && passage_.body().begin() == 0) {
    ++reopenings_;
    taken_ = 0;
    return place_.pool->open(*this);
  }
  // The peer closed its side and never finished its answer: not a good end.
  if (!whole_ && reason == http::CloseReason::finished) reason = http::CloseReason::reset;
  passage_.on_lane_over(*this, reason, answered_);
}

}  // namespace damper::proxy
