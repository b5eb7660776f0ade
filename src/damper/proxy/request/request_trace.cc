#include "damper/proxy/request/request_trace.h"

#include <array>
#include <cstddef>

#include "damper/http/codec/close_reason.h"
#include "damper/http/spans/span_texts.h"

namespace damper::proxy {

using observe::Ending;
using observe::Span;

namespace {

// Whether a request that failed did so by its client's doing: it asked for what it cannot have,
// gave it no time, or has gone.
bool is_clients(const AccessRecord& record) noexcept {
  using http::CloseReason;
  const bool late =
      record.verdict == Verdict::deadline_passed || record.verdict == Verdict::deadline_too_close;
  constexpr int kGrpcUnavailable = 14;
  const bool by_status = record.status >= 500 || record.grpc_status == kGrpcUnavailable;
  if (record.attempts == 0) return !by_status || late;
  if (by_status) return false;
  // Our own side cuts a response that the service does not complete: `cancelled`.
  const bool has_gone =
      record.ended != CloseReason::finished && record.ended != CloseReason::cancelled;
  return has_gone || record.verdict == Verdict::cancelled || (late && record.status == 408);
}

}  // namespace

void RequestTrace::begin(observe::Tracer* tracer, std::span<const http::Field> fields,
                         bool trusted) {
  tracer_ = tracer;
  if (tracer == nullptr) return;
  caller_.read(fields, trusted);
  context_ = tracer->begin(caller_.parent);
}

void RequestTrace::reset() noexcept {
  if (tracer_ == nullptr) return;
  tracer_ = nullptr;
  caller_.clear();
  context_ = {};
  attempts_.clear();
}

void RequestTrace::end(const AccessRecord& record, Instant now) {
  if (tracer_ == nullptr) return;
  const bool failed = is_logged(AccessLog::failures, record);
  const Ending ending = !failed              ? Ending::good
                        : is_clients(record) ? Ending::refused
                                             : Ending::failed;
  if (!tracer_->keeps(context_, ending, now)) return;
  add_request(record, failed, now);
  attempts_.add_to(*tracer_, {context_, caller_.tracestate, record.method}, now);
}

void RequestTrace::add_request(const AccessRecord& record, bool failed, Instant now) {
  Span span;
  span.context = context_;
  span.parent = caller_.parent.span;
  span.remote_parent = true;
  span.tracestate = caller_.tracestate;
  span.kind = observe::SpanKind::server;
  const std::string_view method = http::known_method(record.method);
  std::array<char, 128> name{};
  std::size_t size = method.copy(name.data(), method.size());
  if (!record.route.empty()) {
    name[size++] = ' ';
    size += record.route.copy(name.data() + size, name.size() - size);
  }
  span.name = {name.data(), size};
  span.end_ns = http::unix_ns(now, now);
  span.start_ns = span.end_ns - record.took.count();
  span.add("http.request.method", method);
  span.add("url.path", http::path_of(record.target));  // Without the query, which may have secrets.
  http::add_server(span, record.authority);
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
  if (caller_.stranger) span.add_link(caller_.stranger);
  tracer_->add(span);
}

}  // namespace damper::proxy
