#include "damper/proxy/request/upstream_attempt.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/decide/classify_http.h"
#include "damper/decide/classify_transport.h"
#include "damper/decide/retry_after.h"
#include "damper/http/client/http_result.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/proxied_request.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using decide::Outcome;

constexpr int kUnknown = 2;  // for a status that is no number

void read_grpc(std::string_view status, std::span<const http::Field> fields,
               const policy::RetryOn& retry_on, decide::Report& report) {
  const int code = text::find_number<int>(status).value_or(kUnknown);
  report.outcome = retry_on.outcome_of_grpc(code);
  if (report.outcome == Outcome::success) return;
  report.retry_on_excluded = retry_on.excludes_grpc(code);
  if (const auto pushback = http::find(fields, "grpc-retry-pushback-ms")) {
    decide::read_grpc_pushback(*pushback, report);
  }
}

}  // namespace

using decide::Outcome;
using http::CloseReason;

void UpstreamAttempt::start() {
  DAMPER_CHECK(is_free() && !is_under_way());
  state_ = State::in_flight;
  awaits_client_ = was_held_back_ = false;
  report_ = {};
  request_.on_attempt_started(attempt(), lease().pool());
  open(lease().pool());
}

void UpstreamAttempt::give_up(bool late) {
  if (late) request_.on_attempt_late();
  request_.on_attempt_settled(attempt().number, late ? Outcome::timeout : Outcome::cancelled);
  release(late);
}

void UpstreamAttempt::release(bool late) {
  cancel(late);
  state_ = State::free;
  head_.clear();
  trailers_.clear();
  if (body_.capacity() > KeptHead::kKeptBytes) {
    std::string().swap(body_);
  } else {
    body_.clear();
  }
  body_begin_ = 0;
  owed_ = 0;
}

void UpstreamAttempt::settle(Outcome outcome) {
  if (lease()) request_.on_attempt_settled(attempt().number, outcome);
  lease().settle(outcome, request_.now());
}

void UpstreamAttempt::abandon() {
  settle(is_whole() ? outcome() : Outcome::cancelled);
  release();
}

// ---- The request -----------------------------------------------------------------------------

void UpstreamAttempt::on_stream() {
  taken_ = 0;
  end_taken_ = request_.has_no_body();
  const bool stays_open = request_.is_connect() && pool().protocol() == http::Protocol::h2;
  stream().send_head(request_.head_for(attempt(), pool()), end_taken_ && !stays_open);
  if (end_taken_) return;
  pump();
  request_.on_body_taken();
}

bool UpstreamAttempt::takes_body() const noexcept {
  return has_stream() && !end_taken_ && state_ != State::failed &&
         taken_ >= request_.body().begin();
}

bool UpstreamAttempt::needs_body() const noexcept {
  if (state_ == State::responding) return takes_body();
  return state_ == State::in_flight || state_ == State::buffering;
}

void UpstreamAttempt::pump() {
  if (!takes_body()) return;
  const std::string_view rest = request_.sendable_body(taken_);
  const bool ends = request_.may_end_body();
  const std::span<const http::Field> trailers = request_.trailers();
  if (!rest.empty() || (ends && trailers.empty())) {
    const std::size_t took = stream().send_data(rest, ends && trailers.empty());
    taken_ += took;
    if (took < rest.size()) return on_upload(false);  // It is the replica that stalls.
  }
  on_upload(!ends);
  if (!ends) return;
  end_taken_ = true;
  if (!trailers.empty()) stream().send_trailers(trailers);
}

// Whose time it is from now on: the client's, if the rest of the request is awaited.
void UpstreamAttempt::on_upload(bool awaited) {
  awaits_client_ = awaited;
  const Instant now = request_.now();
  if (state_ != State::in_flight) {  // The response began before the request was complete.
    if (!awaited && gathered().empty()) end_hold(now);
    return;
  }
  set_held(awaited);
  awaited ? lease().on_upload_awaited(now) : lease().on_upload_over(now);
  request_.on_upload(awaited);
}

// It does not wait for the client any longer. A tunnel is no load to its end.
void UpstreamAttempt::end_hold(Instant now) noexcept {
  set_held(false);
  if (!request_.wants_tunnel()) lease().set_held(false, now);
}

void UpstreamAttempt::begin_tunnel() noexcept {
  lease().set_held(true, request_.now());
  taken_ = 0;
  end_taken_ = false;
}

void UpstreamAttempt::on_writable() {
  pump();
  request_.on_body_taken();
}

// ---- The response ----------------------------------------------------------------------------

void UpstreamAttempt::on_interim(const http::Head& head) {
  request_.on_interim_response(attempt().number, head);
}

void UpstreamAttempt::on_head(const http::Head& head, bool end) {
  on_received(end);
  lease().on_head(request_.now());
  request_.on_response_head(attempt(), head.status);
  const RouteConfig& route = request_.config();
  report_ = report_of_head(head, route.settings.retry_on,
                           head.status >= 400 ? run::wall_time() : UnixTime{});
  // The replica waited in vain for the rest of the request, as the proxy's own timeout would: a 504
  // is that of a proxy behind this one.
  if ((head.status == 408 || head.status == 504) && request_.is_uploading()) {
    report_.unknown = true;
  }
  if (report_.outcome != Outcome::success) return fail(head);
  const std::size_t bound = route.response_buffer;
  if (bound == 0 || end || request_.wants_tunnel() || head.content_length.value_or(0) > bound) {
    return succeed(head);
  }
  state_ = State::buffering;
  keep_head(head);
}

void UpstreamAttempt::succeed(const http::Head& head) {
  state_ = State::responding;
  request_.on_success(*this, head);
}

void UpstreamAttempt::fail(const http::Head& head) {
  state_ = State::failed;
  settle(report_.unknown ? Outcome::cancelled : outcome());
  request_.on_failure(*this, report_, head);
}

void UpstreamAttempt::on_data(std::string_view bytes) {
  switch (state_) {
    case State::responding: {
      const bool in_order = gathered().empty() || !request_.has_client();
      const std::size_t passed = in_order ? request_.forward(bytes) : 0;
      if (passed > 0) stream().consumed(passed);
      if (passed == bytes.size()) return;
      was_held_back_ = true;  // The client does not read.
      set_held(true);
      lease().set_held(true, request_.now());
      keep(bytes.substr(passed), false);
      return request_.on_response_kept();
    }
    case State::buffering:
      keep(bytes, true);
      if (gathered().size() > request_.config().response_buffer || !request_.try_count_kept()) {
        succeed(head());
      }
      return;
    case State::failed: return keep(bytes, gathered().size() + bytes.size() <= kKept);
    case State::in_flight:
    case State::free: return;
  }
}

void UpstreamAttempt::on_end(std::span<const http::Field> trailers) {
  on_received(true);
  if (!trailers.empty()) {
    trailers_.keep(trailers);
    report_ = report_of_trailers(report_, trailers, request_.config().settings.retry_on);
  }
  if (state_ == State::responding) return request_.flush();
  if (state_ != State::buffering) return;
  outcome() == Outcome::success ? succeed(head()) : fail(head());
}

void UpstreamAttempt::keep(std::string_view bytes, bool consume) {
  body_ += bytes;
  if (consume) {
    stream().consumed(bytes.size());
  } else {
    owed_ += bytes.size();
  }
}

std::size_t UpstreamAttempt::drain_to(http::Stream& client) {
  const std::string_view rest = gathered();
  if (rest.empty()) return 0;
  const std::size_t passed = client.send_data(rest, false);
  body_begin_ += passed;
  if (body_begin_ == body_.size()) {
    body_.clear();
    body_begin_ = 0;
    if (!awaits_client_) end_hold(request_.now());
  }
  const std::size_t consumed = std::min(passed, owed_);
  owed_ -= consumed;
  if (consumed > 0 && has_stream()) stream().consumed(consumed);
  return passed;
}

bool UpstreamAttempt::may_reopen() const noexcept {
  return state_ == State::in_flight && request_.body().begin() == 0;
}

void UpstreamAttempt::on_done(CloseReason reason) {
  switch (state_) {
    case State::in_flight:
    case State::buffering: {
      decide::Report report = http::failure_of(reason, is_answered()).report;
      // It waited in vain for the rest of the request, as before a 408.
      if (awaits_client_ && report.outcome != Outcome::unavailable) report.unknown = true;
      settle(report.unknown ? Outcome::cancelled : report.outcome);
      release();
      return request_.on_failure_without_response(*this, report);
    }
    case State::failed:
      if (!is_whole()) request_.drop_fallback(*this);
      break;
    case State::responding: return request_.on_responder_over(*this, reason);
    case State::free: break;
  }
  request_.check_end();
}

decide::Report report_of_head(const http::Head& answer, const policy::RetryOn& retry_on,
                              UnixTime now) {
  decide::Report report{.outcome = decide::classify_http(answer.status)};
  if (report.outcome != Outcome::success) {
    report = http::report_of(answer.status, answer.fields, now);
    report.retry_on_excluded = retry_on.excludes_http(answer.status);
    return report;
  }
  if (answer.status != 200) return report;
  if (const auto status = http::find(answer.fields, "grpc-status");
      status && is_grpc(answer.fields)) {
    read_grpc(*status, answer.fields, retry_on, report);
  }
  return report;
}

decide::Report report_of_trailers(const decide::Report& head, std::span<const http::Field> trailers,
                                  const policy::RetryOn& retry_on) {
  decide::Report report = head;
  if (report.outcome != Outcome::success || trailers.empty()) return report;
  if (const auto status = http::find(trailers, "grpc-status")) {
    read_grpc(*status, trailers, retry_on, report);
  }
  return report;
}

}  // namespace damper::proxy
