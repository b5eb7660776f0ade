#include "damper/proxy/request/passage.h"

#include <array>
#include <charconv>
#include <utility>

#include "damper/decide/classify_transport.h"
#include "damper/http/server/guard_refusal.h"
#include "damper/proxy/request/answer_report.h"
#include "damper/proxy/request/passage_sink.h"
#include "damper/run/clock.h"

// The answers' half of a passage: from a replica to the client.
namespace damper::proxy {
namespace {

using decide::Outcome;
using http::CloseReason;
using LaneState = PassageLane::State;

UnixTime wall_time() noexcept {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// Whether the proxy has something to say about the answer that it passes on: not if it is a
// success, nor if it is the server's last word anyway.
bool is_remarkable(Verdict verdict) noexcept {
  return verdict != Verdict::success && verdict != Verdict::permanent &&
         verdict != Verdict::conflict;
}

bool is_own(std::string_view name) noexcept {
  return http::same_name(name, http::kVerdictHeader) || http::same_name(name, kAttemptsHeader);
}

}  // namespace

// ---- From a lane -----------------------------------------------------------------------------

void Passage::on_interim_answer(const PassageLane& lane, const http::Head& head) {
  if (down_ == nullptr || state_ != State::calling) return;
  if (interim_attempt_ == 0) interim_attempt_ = lane.attempt().number;
  if (interim_attempt_ == lane.attempt().number) down_->send_interim(head);
}

void Passage::on_answer(PassageLane& lane, const http::Head& head) {
  const Instant now = this->now();
  route_->upstream->on_head(lane.place(), now);
  upstream_head_ = between(lane.attempt().sent, now);
  lane.report() = report_of_head(head, config().settings.retry_on,
                                 head.status >= 400 ? wall_time() : UnixTime{});
  if (lane.report().outcome != Outcome::success) return fail(lane, &head);
  const std::size_t bound = config().response_buffer;
  const bool passes =
      bound == 0 || lane.is_whole() || asks_tunnel_ || head.content_length.value_or(0) > bound;
  if (passes) return choose(lane, &head);
  lane.set_state(LaneState::held);
  lane.keep_head(head);
}

void Passage::on_answer_data(PassageLane& lane, std::string_view bytes) {
  switch (lane.state()) {
    case LaneState::passing: {
      if (down_ == nullptr) return lane.take_at_once(bytes.size());  // Nobody is there to hear it.
      if (!lane.gathered().empty()) return lane.keep(bytes, false);
      const std::size_t passed = down_->send_data(bytes, false);
      bytes_out_ += passed;
      if (passed > 0) lane.take_at_once(passed);
      if (passed < bytes.size()) lane.keep(bytes.substr(passed), false);
      return;
    }
    case LaneState::held:
      lane.keep(bytes, true);
      if (lane.gathered().size() > config().response_buffer) choose(lane, nullptr);
      return;
    case LaneState::failed:
      return lane.keep(bytes, lane.gathered().size() + bytes.size() <= PassageLane::kKept);
    case LaneState::asking:
    case LaneState::free:
      return;
  }
}

void Passage::on_answer_end(PassageLane& lane) {
  if (!lane.trailers().empty()) {
    lane.report() = report_of_trailers(lane.report(), lane.trailers(), config().settings.retry_on);
  }
  if (lane.state() == LaneState::passing) return flush(lane);
  if (lane.state() != LaneState::held) return;
  lane.report().outcome == Outcome::success ? choose(lane, nullptr) : fail(lane, nullptr);
}

void Passage::on_lane_over(PassageLane& lane, CloseReason reason, bool answered) {
  switch (lane.state()) {
    case LaneState::asking:
    case LaneState::held:
      return fail_without_answer(lane, decide::classify(http::transport_event(reason, answered)));
    case LaneState::failed:
      if (!lane.is_whole() && fallback_ == &lane) {
        fallback_ = nullptr;
        lane.release();
      }
      break;
    case LaneState::passing:
      settle(lane, lane.is_whole() || tunnel_ ? lane.report().outcome : Outcome::transient);
      if (down_ == nullptr) {
        lane.release();
      } else if (tunnel_) {
        if (reason != CloseReason::finished) on_tunnel_broken(lane, reason);
      } else if (lane.is_whole()) {
        on_body_taken();  // Nobody wants the rest of it.
      } else {
        cut(Verdict::none);
      }
      break;
    case LaneState::free:
      break;
  }
  look_for_the_end();
}

// ---- To the engine ---------------------------------------------------------------------------

// It is a success, and its answer the one: `head`, or the one that is kept.
void Passage::choose(PassageLane& lane, const http::Head* head) {
  by_place_[lane.attempt().lane] = nullptr;
  lane.set_live(head);
  lane.set_state(LaneState::passing);
  passing_ = &lane;
  driver_->on_outcome(lane.attempt().lane, {}, now());
  lane.set_live(nullptr);
}

// It failed with an answer, which is the one if no later attempt has one. It is copied only if the
// call goes on.
void Passage::fail(PassageLane& lane, const http::Head* head) {
  by_place_[lane.attempt().lane] = nullptr;
  settle(lane, lane.report().outcome);
  last_ = lane.report().outcome;
  drop_fallback();
  fallback_ = &lane;
  lane.set_state(LaneState::failed);
  lane.set_live(head);
  driver_->on_outcome(lane.attempt().lane, lane.report(), now());
  lane.set_live(nullptr);
  if (head != nullptr && lane.state() == LaneState::failed) lane.keep_head(*head);
}

void Passage::fail_without_answer(PassageLane& lane, Outcome outcome) {
  const int place = lane.attempt().lane;
  by_place_[lane.attempt().lane] = nullptr;
  settle(lane, outcome);
  last_ = outcome;
  lane.release();
  driver_->on_outcome(place, {.outcome = outcome}, now());
}

void Passage::drop_fallback() {
  if (PassageLane* const lane = std::exchange(fallback_, nullptr)) lane->release();
}

void Passage::on_verdict(Verdict verdict) {
  verdict_ = verdict;
  sink_.waiting_.remove(*this);
  if (down_ == nullptr) return;  // The client has gone.
  if (verdict == Verdict::success) {
    drop_fallback();
    return pass(*passing_, verdict);
  }
  if (fallback_ != nullptr) {
    // What is not whole when the time is over would be cut at once: our own words are better.
    const bool late = driver_->call().deadline().passed(now());
    if (fallback_->is_whole() || !late) return pass(*std::exchange(fallback_, nullptr), verdict);
    drop_fallback();
  }
  OwnAnswer own = own_answer(verdict, last_);
  own.attempts = driver_->call().attempts();
  answer(own);
}

// ---- To the client ---------------------------------------------------------------------------

void Passage::pass(PassageLane& lane, Verdict verdict) {
  http::Head head = lane.head();
  const std::uint32_t attempts = driver_->call().attempts();
  std::array<char, 12> number{};
  if (attempts > 1 || is_remarkable(verdict)) {
    std::vector<http::Field>& fields = sink_.scratch_;
    fields.clear();
    for (const http::Field& field :
         head.fields) {  // Only ours are true: it may be a proxy as well.
      if (!is_own(field.name)) fields.push_back(field);
    }
    if (is_remarkable(verdict)) fields.push_back({http::kVerdictHeader, name(verdict)});
    if (attempts > 1) {
      char* const end = std::to_chars(number.data(), number.data() + number.size(), attempts).ptr;
      fields.push_back({kAttemptsHeader, {number.data(), end}});
    }
    head.fields = fields;
  }
  status_ = head.status;
  passing_ = &lane;
  lane.set_state(LaneState::passing);
  state_ = State::passing;
  body_.stop_keeping();
  const bool tunnel = asks_tunnel_ && (head.status == 101 || (head.status / 100 == 2 && connects_));
  end_sent_ = lane.is_whole() && lane.gathered().empty() && lane.trailers().empty();
  down_->send_head(head, end_sent_);
  if (end_sent_) {
    state_ = State::answered;
  } else if (tunnel) {
    begin_tunnel(lane);
  } else {
    arm(driver_->call().deadline().at());
    flush(lane);
  }
  on_body_taken();
}

void Passage::begin_tunnel(PassageLane& lane) {
  state_ = State::tunnel;
  tunnel_ = true;
  if (!connects_) body_.begin(config().request_buffer);  // Its request had an end.
  body_.stop_keeping();
  lane.begin_tunnel();
  pump_body();  // HTTP/2: what came before the answer.
}

// The replica is gone, not well. What it said up to its end still goes to the client.
void Passage::on_tunnel_broken(PassageLane& lane, CloseReason reason) {
  if (!lane.is_whole() || end_sent_) return cut(Verdict::none, reason);
  broken_ = reason;
  flush(lane);
}

// What is gathered, and the end once it is there.
void Passage::flush(PassageLane& lane) {
  if (down_ == nullptr || end_sent_) return;
  if (const std::string_view rest = lane.gathered(); !rest.empty()) {
    const std::size_t passed = down_->send_data(rest, false);
    bytes_out_ += passed;
    const bool all = passed == rest.size();
    lane.on_passed(passed);
    if (!all) return;
  }
  if (!lane.is_whole()) return;
  end_sent_ = true;
  if (tunnel_) {
    (void)down_->send_data({}, true);
    if (broken_ != CloseReason::finished) cut(Verdict::none, broken_);
    return;
  }
  state_ = State::answered;
  Timer::cancel();
  if (lane.trailers().empty()) {
    (void)down_->send_data({}, true);
  } else {
    down_->send_trailers(lane.trailers());
  }
}

void Passage::answer(const OwnAnswer& answer) {
  if (verdict_ == Verdict::none) verdict_ = answer.verdict;
  status_ = grpc_ ? 200 : answer.status;
  state_ = State::answered;
  end_sent_ = true;
  proxy::send(*down_, answer, grpc_, run::draw());
}

// The client sees that the answer is not whole: a reset, or a connection that ends. Of a tunnel
// whose end it was told it sees that, and that nobody hears it any more.
void Passage::cut(Verdict verdict, CloseReason reason) {
  if (verdict != Verdict::none) verdict_ = verdict;
  std::exchange(down_, nullptr)->cancel();
  end(reason);
}

}  // namespace damper::proxy
