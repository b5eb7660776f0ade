#include "damper/proxy/request/request_trace.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "damper/base/text/words.h"
#include "damper/http/codec/close_reason.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using decide::Outcome;
using observe::Span;
using observe::SpanContext;

// The wall time of an instant, by the two clocks now.
std::int64_t unix_ns(Instant at, Instant now) {
  const auto wall = std::chrono::system_clock::now() - between(at, now);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall.time_since_epoch()).count();
}

// A method that anybody may invent is no name of a span.
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> kMethods = {
      "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end() ? method : "_OTHER";
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// "10.0.0.1:9000" in its parts; the port is 0 if there is none.
void add_server(Span& span, std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  span.add("server.address", authority.substr(0, has_port ? colon : authority.size()));
  if (!has_port) return;
  if (const auto port = text::find_number<int>(authority.substr(colon + 1))) {
    span.add_number("server.port", *port);
  }
}

}  // namespace

void RequestTrace::begin(observe::Tracer* tracer, std::span<const http::Field> fields,
                         bool trusted) {
  tracer_ = tracer;
  if (tracer == nullptr) return;
  bool several = false;
  std::string_view parent;
  for (const http::Field& field : fields) {
    if (field.name.size() == observe::kTraceparentHeader.size() &&
        http::same_name(field.name, observe::kTraceparentHeader)) {
      several = !parent.empty();
      parent = field.value;
    } else if (trusted && field.name.size() == observe::kTracestateHeader.size() &&
               http::same_name(field.name, observe::kTracestateHeader) &&
               tracestate_.size() <= observe::kMostTracestate) {
      if (!tracestate_.empty()) tracestate_ += ',';
      tracestate_ += field.value.substr(0, observe::kMostTracestate + 1);
    }
  }
  if (!parent.empty() && !several) {
    if (const auto context = observe::parse_traceparent(parent)) {
      (trusted ? parent_ : stranger_) = *context;
    }
  }
  if (!tracestate_.empty() && (!parent_ || !observe::is_valid_tracestate(tracestate_))) {
    tracestate_.clear();
  }
  context_ = tracer->begin(parent_);
}

void RequestTrace::reset() noexcept {
  if (tracer_ == nullptr) return;
  tracer_ = nullptr;
  parent_ = stranger_ = context_ = {};
  tracestate_.clear();
  attempt_count_ = 0;
}

RequestTrace::AttemptTrace* RequestTrace::find(std::uint32_t number) noexcept {
  for (std::size_t i = attempt_count_; i > 0; --i) {
    if (attempts_[i - 1].number == number) return &attempts_[i - 1];
  }
  return nullptr;
}

void RequestTrace::on_attempt(const engine::Attempt& attempt, std::string_view replica) {
  if (tracer_ == nullptr || attempt_count_ == kMostAttempts) return;
  if (attempts_.size() == attempt_count_) attempts_.emplace_back();
  AttemptTrace& trace = attempts_[attempt_count_++];
  trace.span = tracer_->new_id();
  trace.number = attempt.number;
  trace.status = 0;
  trace.hedge = attempt.hedge;
  trace.over = false;
  trace.sent = attempt.sent;
  trace.replica = replica;
}

void RequestTrace::on_attempt_head(std::uint32_t number, int status) noexcept {
  if (AttemptTrace* const attempt = find(number)) attempt->status = status;
}

void RequestTrace::on_attempt_over(std::uint32_t number, Outcome outcome, Instant now) noexcept {
  AttemptTrace* const attempt = find(number);
  if (attempt == nullptr || attempt->over) return;
  attempt->over = true;
  attempt->outcome = outcome;
  attempt->ended = now;
}

std::string_view RequestTrace::traceparent_of(std::uint32_t number) noexcept {
  if (tracer_ == nullptr) return {};
  SpanContext context = context_;
  if (const AttemptTrace* const attempt = find(number)) context.span = attempt->span;
  observe::write_traceparent(context, text_);
  return {text_.data(), text_.size()};
}

void RequestTrace::end(const AccessRecord& record, Instant now) {
  if (tracer_ == nullptr) return;
  const bool failed = is_logged(AccessLog::failures, record);
  if (!tracer_->keeps(context_, failed, now)) return;
  add_request(record, failed, now);
  for (std::size_t i = 0; i < attempt_count_; ++i) add_attempt(record, attempts_[i], now);
}

void RequestTrace::add_request(const AccessRecord& record, bool failed, Instant now) {
  Span span;
  span.context = context_;
  span.parent = parent_.span;
  span.remote_parent = true;
  span.tracestate = tracestate_;
  span.kind = observe::SpanKind::server;
  const std::string_view method = known_method(record.method);
  std::array<char, 128> name{};
  std::size_t size = method.copy(name.data(), method.size());
  if (!record.route.empty()) {
    name[size++] = ' ';
    size += record.route.copy(name.data() + size, name.size() - size);
  }
  span.name = {name.data(), size};
  span.end_ns = unix_ns(now, now);
  span.start_ns = span.end_ns - record.took.count();
  span.add("http.request.method", method);
  span.add("url.path", path_of(record.target));  // Without the query, which may have secrets.
  add_server(span, record.authority);
  span.add("http.route", record.route);
  if (record.status != 0) span.add_number("http.response.status_code", record.status);
  span.add("client.address", record.client);
  if (record.protocol.starts_with("HTTP/")) {
    span.add("network.protocol.version", record.protocol.substr(5));
  }
  span.add("user_agent.original", record.user_agent);
  span.add("damper.request_id", record.request_id);
  span.add("damper.cluster", record.cluster);
  if (record.verdict != Verdict::none) span.add("damper.verdict", damper::name(record.verdict));
  span.add_number("damper.attempts", record.attempts);
  if (record.ended != http::CloseReason::finished)
    span.add("damper.closed", http::name(record.ended));
  // By the conventions of OpenTelemetry a 4xx is no error of the server.
  const bool by_client = record.status >= 400 && record.status < 500;
  if (failed && !by_client) {
    span.status = observe::SpanStatus::error;
    span.status_message = damper::name(record.verdict);
    span.add("error.type", damper::name(record.verdict));
  }
  if (stranger_) span.add_link(stranger_);
  tracer_->add(span);
}

void RequestTrace::add_attempt(const AccessRecord& record, AttemptTrace& attempt, Instant now) {
  Span span;
  span.context = context_;
  span.context.span = attempt.span;
  span.parent = context_.span;
  span.tracestate = tracestate_;
  span.kind = observe::SpanKind::client;
  span.name = known_method(record.method);
  span.start_ns = unix_ns(attempt.sent, now);
  span.end_ns = unix_ns(attempt.over ? attempt.ended : now, now);
  span.add("http.request.method", span.name);
  add_server(span, attempt.replica);
  if (attempt.status != 0) span.add_number("http.response.status_code", attempt.status);
  if (attempt.number > 1) span.add_number("http.request.resend_count", attempt.number - 1);
  span.add_number("damper.attempt", attempt.number);
  const bool first = attempt.number == 1;
  span.add("damper.attempt.kind", attempt.hedge ? "hedge" : first ? "first" : "retry");
  const bool lost = attempt.over && attempt.outcome == Outcome::cancelled;
  const bool won = !lost && attempt.outcome == Outcome::success;
  span.add("damper.attempt.result", lost ? "cancelled" : won ? "won" : "failed");
  span.add("damper.outcome", attempt.over ? decide::name(attempt.outcome) : "unknown");
  if (!lost && !won) {
    span.status = observe::SpanStatus::error;
    span.status_message = decide::name(attempt.outcome);
    span.add("error.type", decide::name(attempt.outcome));
  }
  tracer_->add(span);
}

}  // namespace damper::proxy
