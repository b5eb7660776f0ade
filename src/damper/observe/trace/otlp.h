#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/observe/trace/span.h"

namespace damper::observe {

// The part of OTLP 1.x (opentelemetry-proto, trace/v1 and collector/trace/v1) that an exporter of
// spans needs, as protobuf, written and read by hand.
//
// Why by hand: the messages are few and their numbers never change; the generated code and its
// library would be the largest dependency of the program.
// Model: a span is encoded once, when it ends, as a field of the message ScopeSpans. A request is a
// sequence of such fields inside its envelope, so that spans are handed over, split and sent as
// bytes.
// Invariants:
//   (1) Each text is ASCII, at most kLongestSpanText bytes: what is longer is cut off, and each
//       byte that is not printable becomes '?'. A collector refuses a whole request for one text
//       that is not UTF-8.
// Thread safety: none. Cost: no allocation once `out` has had the size.

inline constexpr std::size_t kLongestSpanText = 256;

// Appends the span as a field `spans` of ScopeSpans.
void append_span(std::string& out, const Span& span);

// The bytes of the first spans of a sequence that append_span() made, `most` of them at most.
struct SpanPrefix {
  std::size_t bytes = 0;
  std::size_t spans = 0;
};
[[nodiscard]] SpanPrefix prefix_of(std::string_view spans, std::size_t most) noexcept;

// An ExportTraceServiceRequest with the spans.
[[nodiscard]] std::string make_export_request(std::string_view service_name,
                                              std::string_view service_instance,
                                              std::string_view spans);

// How many spans a collector has refused, by an ExportTraceServiceResponse; nothing if it is
// malformed. At most 2^63 - 1.
[[nodiscard]] std::optional<std::uint64_t> read_rejected_spans(std::string_view response) noexcept;

}  // namespace damper::observe
