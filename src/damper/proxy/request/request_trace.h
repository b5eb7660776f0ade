#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/step.h"
#include "damper/http/codec/head.h"
#include "damper/observe/trace/tracer.h"
#include "damper/proxy/log/access_log.h"

namespace damper::proxy {

// A RequestTrace is the trace of one proxied request: a span of the server for the request, and
// below it one of a client for each attempt. The span of an attempt is what `traceparent` tells the
// replica.
//
// Model: begin() reads the caller's context. From a trusted peer it is the parent, and its sampled
// flag is obeyed; `tracestate` is passed on. From a stranger the trace is a new one with a link to
// the stranger's, whose flag and id decide nothing (design 0043). While the request runs, the facts
// of at most kMostAttempts attempts are kept. end() decides whether they are exported: the trace is
// sampled, or the request failed; only then spans are made.
// Invariants:
//   (1) Without a tracer it does nothing, and `traceparent` is passed on as any other field.
//   (2) An attempt has the same span id in `traceparent` and in its span.
// Thread safety: none; one loop.
// Cost: no allocation once it has had as many attempts; 730 instructions for a request of one
// attempt that is not exported, with the field that is written upstream.
class RequestTrace {
 public:
  static constexpr std::size_t kMostAttempts = 16;

  // `tracer` outlives the request; nullptr: no tracing.
  void begin(observe::Tracer* tracer, std::span<const http::Field> fields, bool trusted);
  void reset() noexcept;
  [[nodiscard]] bool is_on() const noexcept { return tracer_ != nullptr; }
  [[nodiscard]] const observe::SpanContext& context() const noexcept { return context_; }

  void on_attempt(const engine::Attempt& attempt, std::string_view replica);
  void on_attempt_head(std::uint32_t number, int status) noexcept;
  void on_attempt_over(std::uint32_t number, decide::Outcome outcome, Instant now) noexcept;

  // The fields of an attempt; empty: the request's own are passed on, or there is none. Valid until
  // the next call.
  [[nodiscard]] std::string_view traceparent_of(std::uint32_t number) noexcept;
  [[nodiscard]] std::string_view tracestate() const noexcept { return tracestate_; }

  // The request is over. `now` and `record.took` are the loop's time.
  void end(const AccessRecord& record, Instant now);

 private:
  struct AttemptTrace {
    std::uint64_t span = 0;
    std::uint32_t number = 0;
    int status = 0;
    bool hedge = false;
    bool over = false;
    decide::Outcome outcome = decide::Outcome::success;
    Instant sent{};
    Instant ended{};
    std::string replica;
  };

  [[nodiscard]] AttemptTrace* find(std::uint32_t number) noexcept;
  void add_request(const AccessRecord& record, bool failed, Instant now);
  void add_attempt(const AccessRecord& record, AttemptTrace& attempt, Instant now);

  observe::Tracer* tracer_ = nullptr;
  observe::SpanContext parent_{};    // of a trusted peer
  observe::SpanContext stranger_{};  // of a peer that is not trusted: linked
  observe::SpanContext context_{};   // of the request's span
  std::string tracestate_;
  std::vector<AttemptTrace> attempts_;  // kept with their texts
  std::size_t attempt_count_ = 0;
  observe::TraceparentText text_{};
};

}  // namespace damper::proxy
