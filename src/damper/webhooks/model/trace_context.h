#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace damper::webhooks {

// A TraceContext is the field `traceparent` of W3C Trace Context: which trace a request is part of,
// and by which span it was made.
//
// Model: 00-TRACE-SPAN-FLAGS in lower-case hexadecimal digits. A later version is read as far as
// version 00 goes, as the standard has it. tracestate is not carried.
// Invariant: text() has only hexadecimal digits and hyphens.
struct TraceContext {
  std::string trace_id;  // 32 digits, not all 0
  std::string span_id;   // 16 digits, not all 0
  std::string flags;     // 2 digits

  // Nothing: the text is not valid, and there is no trace.
  [[nodiscard]] static std::optional<TraceContext> find(std::string_view text);
  // The same trace, by another span. An id of 0 is not valid: it is 1 then.
  [[nodiscard]] TraceContext child(std::uint64_t span) const;
  [[nodiscard]] std::string text() const;
};

}  // namespace damper::webhooks
