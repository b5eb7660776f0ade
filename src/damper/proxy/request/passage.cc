#include "damper/proxy/request/passage.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "damper/base/check.h"
#include "damper/decide/idempotency.h"
#include "damper/decide/layering.h"
#include "damper/http/headers/arrival.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/passage_sink.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using decide::Outcome;
using http::CloseReason;

// A request without a deadline has the route's timeout alone, which the engine knows.
constexpr http::ArrivalOptions kArrival = {.default_deadline = kLongest,
                                           .longest_deadline = kLongest};
constexpr std::string_view kOwner = "damper-proxy";  // where a route's name cannot be one

bool may_connect(const RouteConfig& route) {
  const auto& methods = route.match.methods;
  return std::find(methods.begin(), methods.end(), "CONNECT") != methods.end();
}

}  // namespace

Passage::Passage(PassageSink& sink) : Timer(sink.loop_), sink_(sink), first_lane_(*this) {}

Passage::~Passage() = default;

void Passage::begin(http::Stream& stream, std::shared_ptr<const LoopTable> table) {
  DAMPER_CHECK(over_);
  table_ = std::move(table);
  down_ = &stream;
  state_ = State::arriving;
  over_ = false;
  arrived_ = stream.began();
}

void Passage::recycle() {
  DAMPER_CHECK(over_ && down_ == nullptr);
  Timer::cancel();
  driver_.reset();
  route_ = nullptr;
  table_.reset();
  end_sent_ = has_no_body_ = grpc_ = connects_ = asks_tunnel_ = tunnel_ = false;
  broken_ = CloseReason::finished;
  verdict_ = Verdict::none;
  last_ = Outcome::success;
  interim_attempt_ = 0;
  status_ = 0;
  request_.clear();
  trailers_.clear();
  body_.begin(0);
  owner_ = {};
  replica_.clear();
  tried_.reset();
  by_place_.fill(nullptr);
  fallback_ = passing_ = nullptr;
  bytes_in_ = bytes_out_ = 0;
  upstream_head_ = Duration{0};
}

void Passage::abandon() {
  sink_.waiting_.remove(*this);
  if (driver_) driver_->forget(now());
  if (route_ != nullptr && route_->admission != nullptr) {
    route_->admission->leave(*this, true, now());
  }
  for (const auto& lane : lanes_) {
    if (lane != nullptr) settle(*lane, Outcome::cancelled), lane->release();
  }
  settle(first_lane_, Outcome::cancelled);
  first_lane_.release();
}

// ---- The client's stream ---------------------------------------------------------------------

void Passage::on_head(const http::Head& head, bool end) {
  request_.keep(head);
  connects_ = head.method == "CONNECT";
  has_no_body_ = end || connects_;  // What follows the head of a CONNECT is the tunnel's.
  grpc_ = is_grpc(head.fields);
  const std::optional<std::size_t> at = table_->matcher.find(head);
  if (!at) return answer(no_route());
  route_ = &table_->routes[*at];
  body_.begin(config().request_buffer);
  if (end && !connects_) body_.on_end();
  if (connects_ && !may_connect(config())) return answer(connect_not_allowed());
  asks_tunnel_ = connects_ || (end && !head.upgrade.empty());
  const Instant now = this->now();
  const auto wall = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now() -
                                                                  between(arrived_, now));
  inherited_ = http::read_arrival(head.fields, {.arrived = arrived_, .wall = wall}, kArrival);
  enter(now);
}

void Passage::on_data(std::string_view bytes) {
  bytes_in_ += bytes.size();
  if (state_ == State::answered) return down_->consumed(bytes.size());
  body_.append(bytes);
  pump_body();
}

void Passage::on_end(std::span<const http::Field> trailers) {
  if (state_ == State::answered) return;
  body_.on_end();
  if (!trailers.empty()) trailers_.keep(trailers);
  pump_body();
}

void Passage::on_writable() {
  if (passing_ != nullptr) flush(*passing_);
}

void Passage::on_close(CloseReason reason) {
  down_ = nullptr;
  end(reason);
}

// The body goes to every attempt that may still want it.
void Passage::pump_body() {
  first_lane_.pump();
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->pump();
  }
  on_body_taken();
}

// What every attempt under way has taken need not be kept beyond the bound.
void Passage::on_body_taken() {
  if (down_ == nullptr) {
    if (tunnel_ && passing_->has_stream() && !passing_->takes_more()) {
      settle(*passing_, passing_->report().outcome);
      passing_->release();  // It has the last of a client that is gone.
      look_for_the_end();
    }
    return;
  }
  if (has_no_body_ && !tunnel_) return;
  std::uint64_t taken = body_.end();
  bool wanted = false;
  const auto look = [&](const PassageLane& lane) {
    if (lane.is_free() || lane.state() == PassageLane::State::failed) return;
    if (lane.state() == PassageLane::State::passing && !lane.takes_more()) return;
    wanted = true;
    taken = std::min(taken, lane.taken());
  };
  look(first_lane_);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) look(*lane);
  }
  // While none is under way a retry may come, and wants it from the start.
  if (!wanted && passing_ == nullptr) taken = 0;
  if (body_.try_drop(taken) && state_ == State::calling) driver_->on_unrepeatable();
  if (const std::size_t consumed = body_.try_consume(); consumed > 0) down_->consumed(consumed);
}

// ---- The door --------------------------------------------------------------------------------

void Passage::enter(Instant now) {
  if (!inherited_.deadline.passed(now)) {  // Else the engine says so before any work (trap D3).
    if (!route_->shared->try_take(now)) {
      return answer(rate_limited(route_->shared->rate_wait(now)));
    }
    if (route_->admission != nullptr) {
      const Duration timeout = route_->shared->dependency().terms().timeout;
      const auto deadline = inherited_.deadline.earlier(schedule::Deadline::in(timeout, arrived_));
      const RouteAdmission::Answer said =
          route_->admission->enter(*this, inherited_.criticality, deadline.at(), now);
      if (said.answer == http::Admission::Answer::refused) {
        return on_refused(said.verdict, said.retry_after, now);
      }
      if (said.answer == http::Admission::Answer::waits) {
        state_ = State::waiting;
        return;
      }
    }
  }
  call(now);
}

void Passage::on_admitted(Instant now) { call(now); }

void Passage::on_refused(Verdict verdict, Duration retry_after, Instant /*now*/) {
  OwnAnswer refusal = own_answer(verdict, Outcome::success);
  if (refusal.status != 504) refusal.retry_after = std::max(retry_after, Duration{1});
  answer(refusal);
}

void Passage::call(Instant now) {
  const http::Head& head = request_.head();
  const auto key = http::find(head.fields, "idempotency-key");
  const bool repeatable =
      config().assume_idempotent || decide::idempotency(head.method, key.value_or("")).repeatable();
  engine::Dependency& dependency = route_->shared->dependency();
  driver_.emplace(*this, dependency,
                  engine::CallOptions{.idempotent = repeatable && !asks_tunnel_,
                                      .owned_above = inherited_.owned_above.retries,
                                      .unsent_owned_above = inherited_.owned_above.unsent,
                                      .deadline = inherited_.deadline,
                                      .arrived = arrived_});
  if (inherited_.owned_above.retries) {
    owner_ = inherited_.retry_owner;
  } else if (driver_->call().owns_retries()) {
    owner_ = decide::valid_owner(dependency.name()) ? std::string_view(dependency.name()) : kOwner;
  }
  state_ = State::calling;
  driver_->start(now);
}

// ---- The engine's steps ----------------------------------------------------------------------

PassageLane& Passage::free_lane() {
  if (first_lane_.is_free()) return first_lane_;
  for (auto& lane : lanes_) {
    if (lane == nullptr) lane = std::make_unique<PassageLane>(*this);
    if (lane->is_free()) return *lane;
  }
  DAMPER_CHECK(false);
  return first_lane_;
}

void Passage::send(const engine::Attempt& attempt) {
  http::ReplicaSet asking;
  for (PassageLane* const other : by_place_) {
    if (other != nullptr) asking.set(other->place().replica);
  }
  Upstream::Place place = route_->upstream->pick_next(tried_, asking, attempt.sent, run::draw());
  if (place.pool == nullptr) {
    last_ = decide::classify(http::transport_event(place.why, false));
    return driver_->on_outcome(attempt.lane, {.outcome = last_}, attempt.sent);
  }
  replica_ = place.pool->authority();
  PassageLane& lane = free_lane();
  by_place_[attempt.lane] = &lane;
  lane.start(attempt, place);
}

http::Head Passage::head_for(const PassageLane& lane) {
  const engine::Attempt& attempt = lane.attempt();
  const Instant now = this->now();
  return sink_.forward_.make(
      request_.head(), config(),
      {.remaining = attempt.deadline == kNever ? kForever : between(now, attempt.deadline),
       .owner = owner_,
       .owners_attempt = inherited_.owned_above.retries ? inherited_.attempt : 0,
       .attempt = attempt.number,
       .client = down_ != nullptr ? down_->peer() : http::Peer{},
       .scheme = lane.pool().endpoint().scheme(),
       .authority = lane.pool().authority()});
}

void Passage::give_up(int place) {
  PassageLane* const lane = std::exchange(by_place_[static_cast<std::size_t>(place)], nullptr);
  if (lane == nullptr) return;
  const bool late = now() >= lane->attempt().deadline;
  if (late) last_ = Outcome::timeout;
  settle(*lane, late ? Outcome::timeout : Outcome::cancelled);
  lane->release(late);
}

void Passage::wake_at(Instant when) {
  arm(when);
  if (driver_->is_waiting() == Waiter::is_waiting()) return;
  driver_->is_waiting() ? sink_.waiting_.add(*this) : sink_.waiting_.remove(*this);
}

void Passage::on_timer(Instant now) {
  if (state_ == State::calling) return driver_->on_timer(now);
  if (state_ == State::passing) cut(Verdict::deadline_passed);
}

void Passage::settle(PassageLane& lane, Outcome outcome) {
  if (route_ == nullptr || lane.place().pool == nullptr) return;
  route_->upstream->settle(lane.place(), outcome, now(), run::draw());
}

// ---- The end ---------------------------------------------------------------------------------

// The client's stream is gone, or given up.
void Passage::end(CloseReason reason) {
  const State was = std::exchange(state_, State::over);
  const Instant now = this->now();
  Timer::cancel();
  if (driver_ && !driver_->is_over()) driver_->on_cancel(now);
  if (was < State::passing) verdict_ = Verdict::cancelled;
  sink_.waiting_.remove(*this);
  const auto leave = [&](PassageLane& lane) {
    if (lane.is_free()) return;
    // What the client has said up to its end of a tunnel still goes to the replica.
    if (tunnel_ && body_.has_ended() && lane.takes_more()) return;
    settle(lane, lane.is_whole() ? lane.report().outcome : Outcome::cancelled);
    lane.release();
  };
  leave(first_lane_);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) leave(*lane);
  }
  record(reason);
  if (route_ != nullptr && route_->admission != nullptr)
    route_->admission->leave(*this, !end_sent_, now);
  look_for_the_end();
}

void Passage::record(CloseReason reason) {
  const http::Head& head = request_.head();
  AccessRecord record{.method = head.method,
                      .authority = head.authority,
                      .target = head.target,
                      .route = route_ != nullptr ? std::string_view(config().name) : "",
                      .cluster = route_ != nullptr ? std::string_view(config().cluster) : "",
                      .replica = replica_,
                      .traceparent = http::find(head.fields, "traceparent").value_or(""),
                      .status = status_,
                      .verdict = verdict_,
                      .ended = reason,
                      .attempts = driver_ ? driver_->call().attempts() : 0,
                      .bytes_in = bytes_in_,
                      .bytes_out = bytes_out_,
                      .took = between(arrived_, now()),
                      .upstream_head = upstream_head_};
  sink_.log_.on_request_over(record);
}

void Passage::look_for_the_end() {
  if (over_ || state_ != State::over) return;
  if (first_lane_.is_under_way()) return;
  for (const auto& lane : lanes_) {
    if (lane != nullptr && lane->is_under_way()) return;
  }
  over_ = true;
  sink_.on_over(*this);
}

}  // namespace damper::proxy
