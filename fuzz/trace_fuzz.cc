// traceparent, tracestate and a collector's answer: no input is read out of bounds, what is read is
// written the same, and a prefix of spans is a prefix.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/check.h"
#include "damper/observe/trace/otlp.h"
#include "damper/observe/trace/span_context.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper::observe;  // NOLINT(google-build-using-namespace)
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto context = parse_traceparent(input)) {
    TraceparentText text{};
    write_traceparent(*context, text);
    DAMPER_CHECK(parse_traceparent({text.data(), text.size()}) == context);
    DAMPER_CHECK(std::string_view(text.data(), 52).substr(3) == input.substr(3, 49));
  }
  if (is_valid_tracestate(input)) {
    for (const char c : input) DAMPER_CHECK(c == '\t' || (c >= ' ' && c <= '~'));
  }
  (void)read_rejected_spans(input);
  const SpanPrefix prefix = prefix_of(input, 3);
  DAMPER_CHECK(prefix.bytes <= input.size() && prefix.spans <= 3);
  return 0;
}
