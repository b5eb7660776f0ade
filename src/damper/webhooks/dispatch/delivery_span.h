#pragma once

#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/observe/trace/tracer.h"
#include "damper/webhooks/dispatch/delivery_attempt.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// The value of `traceparent`. REQUIRES: the context is valid.
[[nodiscard]] std::string traceparent_text(const observe::SpanContext& context);

// The span of the request that posted the message; none: the message is part of no trace.
[[nodiscard]] observe::SpanContext parent_of(const Message& message) noexcept;

// What a span has beside the attempt itself.
struct DeliverySpan {
  decide::Outcome outcome = decide::Outcome::success;
  int status = 0;            // 0: no answer
  std::string_view error{};  // why there is none
  std::string_view verdict{};
  bool delivered = false;
};

// The client's span of an attempt that has ended, below the request that posted its message.
//
// Model: exported if the trace is sampled, or the attempt failed. It has the endpoint's id and its
// host; not the path and the query of its URL, which are the secret of many receivers, and nothing
// of payload, headers and answer.
// Cost: nothing is made for an attempt that is not exported.
void add_span(observe::Tracer& tracer, const DeliveryAttempt& attempt, const DeliverySpan& ended,
              Instant now);

}  // namespace damper::webhooks
