// The half of a ProxiedRequest that answers the client.

#include <utility>

#include "damper/base/check.h"
#include "damper/proxy/request/client_wait.h"
#include "damper/proxy/request/direct_answer.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/proxied_request.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using decide::Outcome;
using http::CloseReason;

}  // namespace

void ProxiedRequest::on_interim_response(std::uint32_t attempt, const http::Head& head) {
  if (client_ == nullptr || state_ != State::calling) return;
  if (interim_attempt_ == 0) interim_attempt_ = attempt;
  if (interim_attempt_ != attempt) return;
  http::Head own = head;
  own.fields = without_own_fields(head.fields, factory_.response_fields_.scratch());
  client_->send_interim(own);
}

void ProxiedRequest::on_response_head(const engine::Attempt& attempt, int status) {
  trace_.on_attempt_head(attempt.number, status);
  record_.upstream_head = between(attempt.sent, now());
}

void ProxiedRequest::respond(UpstreamAttempt& attempt, const http::Head& response) {
  http::Head head = response;
  if (made_cookie_) {
    const std::string_view value(made_cookie_->data(), made_cookie_->size());
    write_set_cookie(*config().hash_policy, value, client_->peer().secure, factory_.set_cookie_);
  }
  head.fields = factory_.response_fields_.make(
      response.fields, config().response_fields, field_context(),
      {.verdict = record_.verdict,
       .attempts = call_->call().attempts(),
       .set_cookie = made_cookie_ ? std::string_view(factory_.set_cookie_) : std::string_view()});
  record_.status = head.status;
  if (grpc_) record_.grpc_status = find_grpc_status(response.fields);  // Of an answer without body.
  responder_ = &attempt;
  attempt.respond();
  state_ = State::responding;
  gated_ = false;  // A response that is there needs no admission.
  body_.stop_keeping();
  leave_admission(false);
  const bool whole = attempt.is_whole() && attempt.gathered().empty() && attempt.trailers().empty();
  client_->send_head(head, whole);
  if (whole) {
    state_ = State::answered;
  } else if (wants_tunnel() && (head.status == 101 || (head.status / 100 == 2 && is_connect()))) {
    if (!is_connect()) body_.begin(config().request_buffer);  // The upgrade request had an end.
    tunnel_.emplace(attempt, body_);
    attempt.detach();
    pump_body();  // HTTP/2: the client may have sent before the response.
  } else {
    arm(call_->call().deadline().at());
    flush();
  }
  if (!tunnel_) release_tunnel();
  pump_body();
}

std::size_t ProxiedRequest::forward(std::string_view bytes) {
  if (client_ == nullptr) return bytes.size();
  const std::size_t passed = client_->send_data(bytes, false);
  record_.bytes_out += passed;
  return passed;
}

// Sends the gathered part of the response, and its end once it is received.
void ProxiedRequest::flush() {
  if (client_ == nullptr || state_ != State::responding) return;
  if (tunnel_) {
    if (const auto broken = tunnel_->flush(*client_, record_.bytes_out))
      cut(Verdict::none, *broken);
    return;
  }
  record_.bytes_out += responder_->drain_to(*client_);
  if (kept_ > 0) (void)try_count_kept();
  if (!responder_->gathered().empty() || !responder_->is_whole()) return;
  state_ = State::answered;
  Timer::cancel();
  if (grpc_ && !record_.grpc_status) {
    record_.grpc_status = find_grpc_status(responder_->trailers());
  }
  if (responder_->trailers().empty()) {
    (void)client_->send_data({}, true);
  } else {
    client_->send_trailers(
        without_own_fields(responder_->trailers(), factory_.response_fields_.scratch()));
  }
}

void ProxiedRequest::on_responder_over(UpstreamAttempt& attempt, CloseReason reason) {
  // A replica may end a response that its client does not read.
  const Outcome broken_off = attempt.was_held_back() ? Outcome::cancelled : Outcome::transient;
  attempt.settle(attempt.is_whole() || tunnel_ ? attempt.outcome() : broken_off);
  if (client_ == nullptr) {
    attempt.release();
  } else if (tunnel_) {
    const auto broken = tunnel_->on_upstream_over(reason, *client_, record_.bytes_out);
    if (broken) cut(Verdict::none, *broken);
  } else if (attempt.is_whole()) {
    on_body_taken();  // The rest of the request is not needed.
  } else {
    cut(Verdict::none);
  }
  check_end();
}

void ProxiedRequest::answer(const OwnAnswer& answer) {
  if (record_.verdict == Verdict::none) record_.verdict = answer.verdict;
  record_.status = grpc_ ? 200 : answer.status;
  if (grpc_) record_.grpc_status = answer.grpc_status;
  state_ = State::answered;
  buffering_hook_.unlink();
  leave_admission(false);
  release_tunnel();
  const AnswerEdits edits = route_ == nullptr ? AnswerEdits{} : answer_edits();
  count_own_body(proxy::send(*client_, answer, grpc_, run::draw(), edits));
}

// The response, redirect or health page of a route that forwards nothing.
void ProxiedRequest::answer_directly() {
  const Instant now = this->now();
  if (const auto refusal = find_rate_refusal(*route_, identity_, head_.head().fields, now)) {
    return answer(*refusal);
  }
  record_.verdict = Verdict::success;
  state_ = State::answered;
  ResponseFields& fields = factory_.response_fields_;
  const DirectAnswer sent =
      config().health_page ? send_health(*client_, find_health(*route_, factory_.draining_, now),
                                         config(), fields, field_context())
                           : send_direct(*client_, head_.head(), config(), fields, field_context());
  record_.status = sent.status;
  count_own_body(sent.body_bytes);
}

void ProxiedRequest::count_own_body(std::size_t bytes) noexcept {
  if (head_.head().method != "HEAD") record_.bytes_out += bytes;
}

// Resets the client's stream, or closes its connection: the response is not complete.
void ProxiedRequest::cut(Verdict verdict, CloseReason reason) {
  if (verdict != Verdict::none) record_.verdict = verdict;
  std::exchange(client_, nullptr)->cancel();
  end(reason);
}

}  // namespace damper::proxy
