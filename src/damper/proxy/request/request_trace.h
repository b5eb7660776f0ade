#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/step.h"
#include "damper/http/codec/head.h"
#include "damper/http/spans/attempt_spans.h"
#include "damper/http/spans/caller_trace.h"
#include "damper/observe/trace/tracer.h"
#include "damper/proxy/log/access_log.h"

namespace damper::proxy {

// A RequestTrace is the trace of one proxied request: a span of the server for the request, and
// below it one of a client for each attempt. The span of an attempt is what `traceparent` tells the
// replica.
//
// Model: begin() reads the caller's context: see http::CallerTrace. From a stranger the trace is a
// new one with a link to the stranger's. While the request runs, the facts of its attempts are kept
// (http::AttemptSpans). end() decides whether they are exported: the trace is sampled, or the
// request failed; only then spans are made.
// Invariants:
//   (1) Without a tracer it does nothing, and `traceparent` is passed on as any other field.
//   (2) An attempt has the same span id in `traceparent` and in its span.
// Thread safety: none; one loop.
// Cost: no allocation once it has had as many attempts; 730 instructions for a request of one
// attempt that is not exported, with the field that is written upstream.
class RequestTrace {
 public:
  // `tracer` outlives the request; nullptr: no tracing.
  void begin(observe::Tracer* tracer, std::span<const http::Field> fields, bool trusted);
  void reset() noexcept;
  [[nodiscard]] bool is_on() const noexcept { return tracer_ != nullptr; }
  [[nodiscard]] const observe::SpanContext& context() const noexcept { return context_; }

  void on_attempt(const engine::Attempt& attempt, std::string_view replica) {
    if (tracer_ != nullptr) attempts_.on_attempt(*tracer_, attempt, replica);
  }
  void on_attempt_head(std::uint32_t number, int status) noexcept {
    attempts_.on_head(number, status);
  }
  void on_attempt_over(std::uint32_t number, decide::Outcome outcome, Instant now) noexcept {
    attempts_.on_over(number, outcome, now);
  }

  // The fields of an attempt; empty: the request's own are passed on, or there is none. Valid until
  // the next call.
  [[nodiscard]] std::string_view traceparent_of(std::uint32_t number) noexcept {
    return tracer_ == nullptr ? std::string_view() : attempts_.traceparent_of(number, context_);
  }
  [[nodiscard]] std::string_view tracestate() const noexcept { return caller_.tracestate; }

  // The request is over. `now` and `record.took` are the loop's time.
  void end(const AccessRecord& record, Instant now);

 private:
  void add_request(const AccessRecord& record, bool failed, Instant now);

  observe::Tracer* tracer_ = nullptr;
  http::CallerTrace caller_;
  observe::SpanContext context_{};  // of the request's span
  http::AttemptSpans attempts_;
};

}  // namespace damper::proxy
