#include "damper/http/spans/attempt_spans.h"

#include "damper/http/spans/span_texts.h"

namespace damper::http {

using decide::Outcome;

AttemptSpans::Facts* AttemptSpans::find(std::uint32_t number) noexcept {
  for (std::size_t i = count_; i > 0; --i) {
    if (attempts_[i - 1].number == number) return &attempts_[i - 1];
  }
  return nullptr;
}

void AttemptSpans::on_attempt(observe::Tracer& tracer, const engine::Attempt& attempt,
                              std::string_view replica) {
  if (count_ == kMostAttempts) return;
  if (attempts_.size() == count_) attempts_.emplace_back();
  Facts& facts = attempts_[count_++];
  facts.span = tracer.new_id();
  facts.number = attempt.number;
  facts.status = 0;
  facts.hedge = attempt.hedge;
  facts.over = false;
  facts.sent = attempt.sent;
  facts.replica = replica;
}

void AttemptSpans::on_head(std::uint32_t number, int status) noexcept {
  if (Facts* const facts = find(number)) facts->status = status;
}

void AttemptSpans::on_over(std::uint32_t number, Outcome outcome, Instant now) noexcept {
  Facts* const facts = find(number);
  if (facts == nullptr || facts->over) return;
  facts->over = true;
  facts->outcome = outcome;
  facts->ended = now;
}

std::string_view AttemptSpans::traceparent_of(std::uint32_t number,
                                              observe::SpanContext call) noexcept {
  if (const Facts* const facts = find(number)) call.span = facts->span;
  observe::write_traceparent(call, text_);
  return {text_.data(), text_.size()};
}

void AttemptSpans::add_to(observe::Tracer& tracer, const Call& call, Instant now) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Facts& facts = attempts_[i];
    observe::Span span;
    span.context = call.context;
    span.context.span = facts.span;
    span.parent = call.context.span;
    span.tracestate = call.tracestate;
    span.kind = observe::SpanKind::client;
    span.name = known_method(call.method);
    span.start_ns = unix_ns(facts.sent, now);
    span.end_ns = unix_ns(facts.over ? facts.ended : now, now);
    span.add("http.request.method", span.name);
    add_server(span, facts.replica);
    if (facts.status != 0) span.add_number("http.response.status_code", facts.status);
    if (facts.number > 1) span.add_number("http.request.resend_count", facts.number - 1);
    span.add_number("damper.attempt", facts.number);
    const bool first = facts.number == 1;
    span.add("damper.attempt.kind", facts.hedge ? "hedge" : first ? "first" : "retry");
    const bool lost = facts.over && facts.outcome == Outcome::cancelled;
    const bool won = !lost && facts.outcome == Outcome::success;
    span.add("damper.attempt.result", lost ? "cancelled" : won ? "won" : "failed");
    span.add("damper.outcome", facts.over ? decide::name(facts.outcome) : "unknown");
    if (!lost && !won) {
      span.status = observe::SpanStatus::error;
      span.status_message = decide::name(facts.outcome);
      span.add("error.type", decide::name(facts.outcome));
    }
    tracer.add(span);
  }
}

}  // namespace damper::http
