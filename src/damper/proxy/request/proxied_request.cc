#include "damper/proxy/request/proxied_request.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/decide/classify_transport.h"
#include "damper/decide/layering.h"
#include "damper/http/client/http_result.h"
#include "damper/http/headers/arrival.h"
#include "damper/http/server/guard_refusal.h"
#include "damper/proxy/request/client_wait.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/repeatable.h"
#include "damper/proxy/request/upgrade.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using decide::Outcome;
using http::CloseReason;

constexpr std::string_view kOwner = "damper-proxy";  // if the route's name is no valid owner

}  // namespace

ProxiedRequest::ProxiedRequest(RequestFactory& factory)
    : Timer(factory.loop_), factory_(factory), attempts_(*this) {}

ProxiedRequest::~ProxiedRequest() { release_kept(); }

void ProxiedRequest::begin(http::Stream& client, std::shared_ptr<const LoopTable> table,
                           const ListenerRules& rules) {
  DAMPER_CHECK(state_ == State::idle);
  table_ = std::move(table);
  client_ = &client;
  rules_ = &rules;
  state_ = State::arriving;
  arrived_ = client.began();
}

void ProxiedRequest::recycle() {
  DAMPER_CHECK(state_ == State::idle && client_ == nullptr);
  Timer::cancel();
  tunnel_.reset();
  call_.reset();
  route_ = nullptr;
  table_.reset();
  kind_ = Kind::plain;
  has_no_body_ = grpc_ = short_deadline_ = gated_ = awaits_client_ = false;
  hash_key_.reset();
  made_cookie_.reset();
  last_ = Outcome::success;
  interim_attempt_ = 0;
  record_ = {};
  trace_.reset();
  head_.clear();
  trailers_.clear();
  body_.begin(0);
  owner_ = {};
  replica_.clear();
  fallback_ = responder_ = nullptr;
}

void ProxiedRequest::abandon() {
  if (call_) call_->abandon(now());
  leave_admission(true);
  release_tunnel();
  attempts_.for_each([](UpstreamAttempt& attempt) { attempt.abandon(); });
}

// ---- The client's stream ---------------------------------------------------------------------

void ProxiedRequest::on_head(const http::Head& received, bool end) {
  const ListenerRules& rules = *std::exchange(rules_, nullptr);
  http::Head head = received;
  const bool has_good_path = rules.paths.try_apply(head.target, factory_.path_);
  const Instant now = this->now();
  identity_.read(rules.trust, client_->peer(), head.fields);
  // A request without a deadline has the route's timeout alone, which the engine applies.
  inherited_ = http::read_arrival(
      head.fields, {.arrived = arrived_, .wall = run::wall_time(between(arrived_, now))},
      {.default_deadline = kLongest, .longest_deadline = kLongest, .trusted = identity_.trusted});
  // Nothing that follows sees what a stranger may not say: neither routes, limits nor replicas.
  if (!identity_.trusted) head.fields = without_trusted_fields(head.fields, factory_.fields_);
  head_.keep(head);
  const bool has_room = this->has_room();
  trace_.begin(table_->tracer.get(), head.fields, identity_.trusted);
  const bool connect = head.method == "CONNECT";
  has_no_body_ = end || connect;  // What follows the head of a CONNECT belongs to the tunnel.
  grpc_ = is_grpc(head.fields);
  if (!has_room) return answer(no_room());
  if (!has_good_path) return answer(path_not_allowed());
  const std::optional<std::size_t> at = table_->matcher.find(head);
  if (!at) return answer(no_route());
  route_ = &table_->routes[*at];
  if (!config().forwards()) return answer_directly();
  if (config().hash_policy) find_hash_key();
  if (route_->split != nullptr) pick_cluster();
  body_.begin(config().request_buffer);
  if (!config().prefix_rewrite.empty() && has_parent_segment(path_of(head.target))) {
    return answer(path_not_allowed());
  }
  if (connect) {
    kind_ = Kind::connect;
    if (!may_connect(config().match.methods)) return answer(connect_not_allowed());
  } else if (end) {
    body_.on_end();
    if (!head.upgrade.empty()) {
      kind_ = Kind::upgrade;
      if (!may_upgrade(head.upgrade, config().upgrades)) return answer(upgrade_not_allowed());
    }
  }
  enter(now);
}

void ProxiedRequest::find_hash_key() {
  const HashPolicy& policy = *config().hash_policy;
  std::optional<std::string_view> text =
      find_key_text(policy, head_.head().fields, identity_.address);
  if (!text && !policy.cookie.empty() && policy.ttl != HashPolicy::kNotMade) {
    made_cookie_ = cookie_value(run::random_bits());
    text = std::string_view(made_cookie_->data(), made_cookie_->size());
  }
  if (text) hash_key_ = hash_key_of(*text);
}

void ProxiedRequest::pick_cluster() {
  const LoopSplit& split = *route_->split;
  route_ = &split.clusters[split.weights.pick(hash_key_, hash_key_ ? 0 : run::draw())];
}

void ProxiedRequest::on_data(std::string_view bytes) {
  record_.bytes_in += bytes.size();
  if (state_ == State::answered) return client_->consumed(bytes.size());
  body_.append(bytes);
  pump_body();
  buffering_hook_.unlink();  // It does not make room for itself.
  if (!has_room()) return on_no_room();
  if (state_ == State::buffering) factory_.on_progress(*this, now());
  if (state_ == State::buffering && body_.size() >= config().request_buffer) admit(now());
}

void ProxiedRequest::on_end(std::span<const http::Field> trailers) {
  if (state_ == State::answered) return;
  body_.on_end();
  buffering_hook_.unlink();  // It is complete: it does not make room for its own trailers.
  if (!trailers.empty()) {
    trailers_.keep(without_trusted_fields(trailers, factory_.fields_));
    if (!has_room()) return on_no_room();
  }
  const Instant now = this->now();
  if (state_ == State::buffering) return admit(now);
  if (state_ != State::calling || !gated_) return pump_body();
  if (route_->admission == nullptr || offer(now) == http::Admission::Answer::runs) complete(now);
}

void ProxiedRequest::on_writable() { flush(); }

void ProxiedRequest::on_close(CloseReason reason) {
  client_ = nullptr;
  end(reason);
}

void ProxiedRequest::pump_body() {
  attempts_.for_each([](UpstreamAttempt& attempt) { attempt.pump(); });
  on_body_taken();
}

// Drops the bytes that every attempt has taken, once the body is over its bound.
void ProxiedRequest::on_body_taken() {
  if (client_ == nullptr) {
    if (tunnel_ && tunnel_->is_drained()) {
      responder_->settle(responder_->outcome());
      responder_->release();
      check_end();
    }
    return;
  }
  if (has_no_body_ && !tunnel_) return;
  std::uint64_t taken = body_.end();
  bool needed = false;
  attempts_.for_each([&](const UpstreamAttempt& attempt) {
    if (!attempt.needs_body()) return;
    needed = true;
    taken = std::min(taken, attempt.taken());
  });
  // While no attempt is in flight a retry may follow, which needs the body from its start.
  if (!needed && responder_ == nullptr) taken = 0;
  if (body_.try_drop(taken) && state_ == State::calling) call_->on_unrepeatable();
  if (kept_ > 0) (void)try_count_kept();
  if (const std::size_t consumed = body_.try_consume(); consumed > 0) client_->consumed(consumed);
}

// ---- Admission -------------------------------------------------------------------------------

void ProxiedRequest::enter(Instant now) {
  if (!inherited_.deadline.passed(now)) {  // Else the engine refuses it before any work (trap D3).
    if (const auto refusal = find_rate_refusal(*route_, identity_, head_.head().fields, now)) {
      return answer(*refusal);
    }
    if (wants_tunnel()) {
      has_tunnel_slot_ = route_->shared->try_take_tunnel();
      if (!has_tunnel_slot_) return answer(too_many_tunnels());
    }
    if (config().request_buffering && is_uploading()) {
      state_ = State::buffering;
      factory_.on_progress(*this, now);
      return arm(effective_deadline().at());
    }
  }
  admit(now);
}

// Asks the admission about a complete request, and begins the call.
void ProxiedRequest::admit(Instant now) {
  buffering_hook_.unlink();
  if (route_->admission != nullptr && !is_uploading() && !inherited_.deadline.passed(now)) {
    const http::Admission::Answer answer = offer(now);
    if (answer == http::Admission::Answer::waits) state_ = State::queued;
    if (answer != http::Admission::Answer::runs) return;
  }
  call(now);
}

// Asks the admission about a complete request; a refusal has been answered on return.
http::Admission::Answer ProxiedRequest::offer(Instant now) {
  const Instant deadline = effective_deadline().at();
  const Duration timeout = route_->shared->dependency().terms().timeout;
  short_deadline_ = schedule::is_cut_short(between(now, deadline), timeout) ||
                    (inherited_.from_stranger && deadline < add(arrived_, timeout));
  const RouteAdmission::Answer offered =
      route_->admission->enter(*this, inherited_.criticality, deadline, now);
  if (offered.answer == http::Admission::Answer::refused) {
    on_refused(offered.verdict, offered.retry_after, now);
  }
  return offered.answer;
}

// The request that is being sent is complete, and admitted.
void ProxiedRequest::complete(Instant now) {
  gated_ = false;
  call_->on_upload_complete(now);
  call_->is_over() ? conclude(nullptr) : pump_body();
}

std::string_view ProxiedRequest::sendable_body(std::uint64_t offset) const noexcept {
  const std::string_view rest = body_.from(offset);
  const auto& length = head_.head().content_length;
  if (!gated_ || !length || offset + rest.size() < *length) return rest;
  return rest.substr(0, rest.size() - std::min<std::size_t>(rest.size(), 1));
}

schedule::Deadline ProxiedRequest::effective_deadline() const noexcept {
  const Duration timeout = route_->shared->dependency().terms().timeout;
  return inherited_.deadline.earlier(schedule::Deadline::in(timeout, arrived_));
}

// Releases the slot, if it has one. The limit gets no sample of a time that the client determined:
// its deadline, or its upload, left too little of the policy's time (as in design 0035).
void ProxiedRequest::leave_admission(bool abandoned) {
  if (route_ == nullptr || route_->admission == nullptr) return;
  const Instant now = this->now();
  if (short_deadline_ && effective_deadline().passed(now)) {
    route_->admission->leave_unrated(*this, now);
  } else {
    route_->admission->leave(*this, abandoned, now);
  }
}

void ProxiedRequest::release_tunnel() noexcept {
  if (std::exchange(has_tunnel_slot_, false)) route_->shared->release_tunnel();
}

void ProxiedRequest::on_refused(Verdict verdict, Duration retry_after, Instant now) {
  shed(own_refusal(verdict, retry_after), now);
}

// Ends the call, if it has begun, with the answer of a refusal.
void ProxiedRequest::shed(const OwnAnswer& refusal, Instant now) {
  if (call_) call_->on_cancel(now);
  record_.verdict = refusal.verdict;
  answer(refusal);
}

// ---- The call --------------------------------------------------------------------------------

ProxiedRequest::Call::Call(ProxiedRequest& request, engine::Dependency& dependency,
                           const engine::CallOptions& options)
    : AttemptDriver(dependency, options, request.factory_.waiting_), request_(request) {
  if (request.is_uploading()) on_upload_awaited(request.now());
}

http::ReplicaLease ProxiedRequest::Call::pick(balance::ReplicaSet& tried,
                                              const balance::ReplicaSet& in_use, Instant now) {
  return request_.route_->upstream->pick_next(tried, in_use, now, run::draw(), request_.hash_key_);
}

decide::Report ProxiedRequest::Call::on_no_replica() {
  request_.last_ = decide::classify(http::transport_event(CloseReason::name_not_resolved, false));
  // An operator who holds all replicas open is no failure of the service: no retry, no verdict.
  const bool held = request_.route_->upstream->has_replicas();
  return {.outcome = request_.last_, .do_not_retry = held, .unknown = held};
}

void ProxiedRequest::Call::on_wake(Instant now) {
  CallDriver::on_timer(now);
  request_.conclude(nullptr);
}

void ProxiedRequest::call(Instant now) {
  const Repeatable repeats = repeatable(head_.head(), config());
  engine::Dependency& dependency = route_->shared->dependency();
  call_.emplace(
      *this, dependency,
      engine::CallOptions{.request = {.idempotent = repeats.idempotent && !wants_tunnel(),
                                      .safe = repeats.safe,
                                      .owned_above = inherited_.owned_above.retries,
                                      .unsent_owned_above = inherited_.owned_above.unsent},
                          .deadline = inherited_.deadline,
                          .arrived = arrived_,
                          .from_stranger = inherited_.from_stranger});
  if (inherited_.owned_above.retries) {
    owner_ = inherited_.retry_owner;
  } else if (call_->call().owns_retries()) {
    owner_ = decide::valid_owner(config().name) ? std::string_view(config().name) : kOwner;
  }
  state_ = State::calling;
  gated_ = is_uploading();
  call_->start(now);
  conclude(nullptr);
}

void ProxiedRequest::on_timer(Instant now) {
  if (state_ == State::buffering) return answer(body_timed_out());
  if (state_ == State::calling) return call_->on_wake(now);
  if (state_ == State::responding) cut(Verdict::deadline_passed);
}

http::Head ProxiedRequest::head_for(const engine::Attempt& attempt, const http::Pool& pool) {
  return factory_.forward_.make(
      head_.head(), config(),
      {.remaining = attempt.deadline == kNever ? kForever : between(now(), attempt.deadline),
       .owner = owner_,
       .owner_attempt = inherited_.owned_above.retries ? inherited_.attempt : 0,
       .attempt = attempt.number,
       .client = client_ != nullptr ? client_->peer() : http::Peer{},
       .request_id = identity_.request_id,
       .client_address = identity_.address,
       .traceparent = trace_.traceparent_of(attempt.number),
       .tracestate = trace_.tracestate(),
       .scheme = pool.endpoint().scheme(),
       .authority = pool.authority()});
}

void ProxiedRequest::on_attempt_started(const engine::Attempt& attempt, const http::Pool& pool) {
  replica_ = pool.authority();
  trace_.on_attempt(attempt, replica_);
}

void ProxiedRequest::on_success(UpstreamAttempt& attempt, const http::Head& head) {
  call_->on_attempt_over(attempt, {}, now());
  DAMPER_CHECK(call_->is_over());
  release_fallback();
  respond(attempt, head);
}

// The head is copied only if the call continues.
void ProxiedRequest::on_failure(UpstreamAttempt& attempt, const decide::Report& report,
                                const http::Head& head) {
  last_ = report.outcome;
  release_fallback();
  fallback_ = &attempt;
  call_->on_attempt_over(attempt, report, now());
  if (call_->is_over()) return conclude(&head);
  attempt.keep_head(head);
}

void ProxiedRequest::on_failure_without_response(const UpstreamAttempt& attempt,
                                                 const decide::Report& report) {
  last_ = report.outcome;
  call_->on_attempt_over(attempt, report, now());
  conclude(nullptr);
}

// Answers the client if the call has ended without a success. `last_head`: of the fallback, if it
// is being received.
void ProxiedRequest::conclude(const http::Head* last_head) {
  if (state_ != State::calling || !call_->is_over()) return;
  const bool late = call_->call().deadline().passed(now());
  if (fallback_ != nullptr) {
    // An incomplete response would be cut at once if the time is over: our own answer is better.
    if (fallback_->is_whole() || !late) {
      UpstreamAttempt& last = *std::exchange(fallback_, nullptr);
      return respond(last, last_head != nullptr ? *last_head : last.head());
    }
    release_fallback();
  }
  OwnAnswer own = late && awaits_client_ && is_uploading() ? body_timed_out()
                                                           : own_answer(record_.verdict, last_);
  own.attempts = call_->call().attempts();
  answer(own);
}

void ProxiedRequest::release_fallback() {
  if (UpstreamAttempt* const attempt = std::exchange(fallback_, nullptr)) attempt->release();
}

void ProxiedRequest::drop_fallback(const UpstreamAttempt& attempt) {
  if (fallback_ == &attempt) release_fallback();
}

// ---- The end ---------------------------------------------------------------------------------

// The client's stream is closed or was reset.
void ProxiedRequest::end(CloseReason reason) {
  const State was = std::exchange(state_, State::closed);
  const Instant now = this->now();
  Timer::cancel();
  buffering_hook_.unlink();
  if (call_ && !call_->is_over()) call_->on_cancel(now);
  if (was < State::responding) record_.verdict = Verdict::cancelled;
  attempts_.for_each([&](UpstreamAttempt& attempt) {
    if (attempt.is_free() || (tunnel_ && &attempt == responder_ && tunnel_->try_drain_up())) return;
    attempt.abandon();
  });
  const http::Head& head = head_.head();
  record_.method = head.method;
  record_.authority = head.authority;
  record_.target = head.target;
  if (route_ != nullptr) {
    record_.route = config().name;
    record_.cluster = route_->shared->cluster().name();
  }
  record_.replica = replica_;
  record_.traceparent = http::find(head.fields, "traceparent").value_or("");
  record_.client = identity_.address;
  record_.protocol = identity_.protocol;
  record_.user_agent = http::find(head.fields, "user-agent").value_or("");
  record_.request_id = identity_.request_id;
  record_.trace = trace_.context().trace;
  record_.fields = head.fields;
  record_.ended = reason;
  record_.attempts = call_ ? call_->call().attempts() : 0;
  record_.took = between(arrived_, now);
  factory_.log_.on_request_over(record_);
  trace_.end(record_, now);
  leave_admission(true);  // It is there no more, unless the client has gone before a response.
  release_tunnel();
  check_end();
}

void ProxiedRequest::check_end() {
  if (state_ != State::closed) return;
  bool under_way = false;
  attempts_.for_each(
      [&](const UpstreamAttempt& attempt) { under_way = under_way || attempt.is_under_way(); });
  if (under_way) return;
  state_ = State::idle;
  release_kept();
  factory_.on_over(*this);
}

}  // namespace damper::proxy
