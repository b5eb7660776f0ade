#include "damper/webhooks/dispatch/delivery_span.h"

#include "damper/http/spans/span_texts.h"

namespace damper::webhooks {

std::string traceparent_text(const observe::SpanContext& context) {
  observe::TraceparentText text{};
  observe::write_traceparent(context, text);
  return {text.data(), text.size()};
}

observe::SpanContext parent_of(const Message& message) noexcept {
  return observe::parse_traceparent(message.traceparent).value_or(observe::SpanContext{});
}

void add_span(observe::Tracer& tracer, const DeliveryAttempt& attempt, const DeliverySpan& ended,
              Instant now) {
  const auto ending = ended.delivered ? observe::Ending::good : observe::Ending::failed;
  if (!tracer.keeps(attempt.context(), ending, now)) return;
  const Delivery& delivery = attempt.delivery();
  const std::string endpoint = id_text(kEndpointPrefix, delivery.endpoint);
  const std::string message = id_text(kMessagePrefix, delivery.message->id);
  observe::Span span;
  span.context = attempt.context();
  span.parent = parent_of(*delivery.message).span;
  span.remote_parent = true;  // Its span may be of another dispatcher, or of before a restart.
  span.kind = observe::SpanKind::client;
  span.name = "POST webhook";
  span.start_ns = http::unix_ns(attempt.ticket().started, now);
  span.end_ns = http::unix_ns(now, now);
  span.add("http.request.method", "POST");
  if (!attempt.authority().empty()) http::add_server(span, attempt.authority());
  if (ended.status != 0) span.add_number("http.response.status_code", ended.status);
  if (delivery.attempts > 0) span.add_number("http.request.resend_count", delivery.attempts);
  span.add_number("damper.attempt", std::int64_t{delivery.attempts} + 1);
  span.add("damper.attempt.kind", delivery.attempts > 0 ? "retry" : "first");
  span.add_flag("damper.redriven", delivery.since != delivery.message->created);
  const bool lost = ended.outcome == decide::Outcome::cancelled;
  span.add("damper.attempt.result", ended.delivered ? "won" : lost ? "cancelled" : "failed");
  span.add("damper.outcome", decide::name(ended.outcome));
  span.add("damper.verdict", ended.verdict);
  span.add("damper.endpoint", endpoint);
  span.add("damper.message", message);
  if (!ended.delivered) {
    span.status = observe::SpanStatus::error;
    span.status_message = ended.error.empty() ? decide::name(ended.outcome) : ended.error;
    span.add("error.type", decide::name(ended.outcome));
  }
  tracer.add(span);
}

}  // namespace damper::webhooks
