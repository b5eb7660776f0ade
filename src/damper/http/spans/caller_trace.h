#pragma once

#include <span>
#include <string>

#include "damper/http/codec/head.h"
#include "damper/observe/trace/span_context.h"

namespace damper::http {

// A CallerTrace is the trace context that a request has in its fields.
//
// Model: from a trusted caller it is the parent, whose sampled flag is obeyed, and `tracestate` is
// passed on. A stranger's is only linked: its id and flag decide nothing (design 0043). A malformed
// `traceparent`, or a second one, is none; a malformed `tracestate` is none, too.
// Invariants:
//   (1) At most one of `parent` and `stranger` is a context.
//   (2) `tracestate` has at most kMostTracestate bytes, and is empty without a parent.
struct CallerTrace {
  observe::SpanContext parent{};
  observe::SpanContext stranger{};
  std::string tracestate{};

  // Instead of what it had; the text keeps its memory.
  void read(std::span<const Field> fields, bool trusted);
  void clear() noexcept {
    parent = stranger = {};
    tracestate.clear();
  }
};

}  // namespace damper::http
