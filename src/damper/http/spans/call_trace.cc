#include "damper/http/spans/call_trace.h"

#include <array>
#include <cstddef>

#include "damper/http/spans/span_texts.h"

namespace damper::http {

void CallTrace::end(const Ended& ended, Instant now) {
  const bool failed = is_failure(ended.verdict, ended.status);
  const observe::Ending ending = failed ? observe::Ending::failed : observe::Ending::good;
  if (!tracer_.keeps(context_, ending, now)) return;
  const std::string_view method = known_method(ended.method);
  std::array<char, 128> name{};
  std::size_t size = method.copy(name.data(), method.size());
  name[size++] = ' ';
  size += ended.dependency.copy(name.data() + size, name.size() - size);
  observe::Span span;
  span.context = context_;
  span.parent = parent_.span;
  span.tracestate = tracestate_;
  span.kind = observe::SpanKind::internal;
  span.name = {name.data(), size};
  span.start_ns = unix_ns(started_, now);
  span.end_ns = unix_ns(now, now);
  span.add("http.request.method", method);
  span.add("url.path", path_of(ended.target));
  span.add("damper.dependency", ended.dependency);
  if (ended.status != 0) span.add_number("http.response.status_code", ended.status);
  span.add("damper.verdict", damper::name(ended.verdict));
  span.add_number("damper.attempts", ended.attempts);
  if (ended.verdict != Verdict::success && ended.verdict != Verdict::cancelled) {
    span.status = observe::SpanStatus::error;
    span.status_message = damper::name(ended.verdict);
    span.add("error.type", damper::name(ended.verdict));
  }
  tracer_.add(span);
  attempts_.add_to(tracer_, {context_, tracestate_, ended.method}, now);
}

}  // namespace damper::http
