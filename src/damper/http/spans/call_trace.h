#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"
#include "damper/engine/step.h"
#include "damper/http/spans/attempt_spans.h"
#include "damper/observe/trace/tracer.h"

namespace damper::http {

// Whether a call or a request is exported although its trace is not sampled: it did not end well,
// or with a status from 500 on. A final answer such as 404 is no failure.
[[nodiscard]] constexpr bool is_failure(Verdict verdict, int status) noexcept {
  const bool good =
      verdict == Verdict::success || verdict == Verdict::permanent || verdict == Verdict::conflict;
  return !good || status >= 500;
}

// A CallTrace is the trace of one guarded call: a span for the call, and below it one for each
// attempt. The span of an attempt is what `traceparent` tells the replica.
//
// Model: the call's span is `internal`, those of the attempts are of a client: by the conventions
// of OpenTelemetry each request that is sent is a client span (design 0055).
// Thread safety: none; on the tracer's loop.
// Cost: two random numbers and a copy of the replica's name for an attempt. Spans are made at the
// end, if the trace is sampled or the call failed.
class CallTrace {
 public:
  // What is known at the end.
  struct Ended {
    std::string_view dependency{};
    std::string_view method{};
    std::string_view target{};
    Verdict verdict = Verdict::none;
    std::uint32_t attempts = 0;
    int status = 0;  // of the answer that the caller gets; 0: none
  };

  // Below `parent`, or of a new trace if that is none. The tracer outlives it.
  CallTrace(observe::Tracer& tracer, const observe::SpanContext& parent, std::string tracestate,
            Instant now)
      : tracer_(tracer),
        parent_(parent),
        context_(tracer.begin(parent)),
        tracestate_(std::move(tracestate)),
        started_(now) {}

  [[nodiscard]] const observe::SpanContext& context() const noexcept { return context_; }
  void on_attempt(const engine::Attempt& attempt, std::string_view replica) {
    attempts_.on_attempt(tracer_, attempt, replica);
  }
  void on_attempt_head(std::uint32_t number, int status) noexcept {
    attempts_.on_head(number, status);
  }
  void on_attempt_over(std::uint32_t number, decide::Outcome outcome, Instant now) noexcept {
    attempts_.on_over(number, outcome, now);
  }
  // The fields of an attempt; the first one is valid until the next call.
  [[nodiscard]] std::string_view traceparent_of(std::uint32_t number) noexcept {
    return attempts_.traceparent_of(number, context_);
  }
  [[nodiscard]] std::string_view tracestate() const noexcept { return tracestate_; }

  void end(const Ended& ended, Instant now);

 private:
  observe::Tracer& tracer_;
  const observe::SpanContext parent_;
  const observe::SpanContext context_;  // of the call's span
  const std::string tracestate_;
  const Instant started_;
  AttemptSpans attempts_;
};

}  // namespace damper::http
