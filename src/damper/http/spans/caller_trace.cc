#include "damper/http/spans/caller_trace.h"

#include <string_view>

namespace damper::http {

void CallerTrace::read(std::span<const Field> fields, bool trusted) {
  clear();
  bool several = false;
  std::string_view text;
  for (const Field& field : fields) {
    if (field.name.size() == observe::kTraceparentHeader.size() &&
        same_name(field.name, observe::kTraceparentHeader)) {
      several = !text.empty();
      text = field.value;
    } else if (trusted && field.name.size() == observe::kTracestateHeader.size() &&
               same_name(field.name, observe::kTracestateHeader) &&
               tracestate.size() <= observe::kMostTracestate) {
      if (!tracestate.empty()) tracestate += ',';
      tracestate += field.value.substr(0, observe::kMostTracestate + 1);
    }
  }
  if (!text.empty() && !several) {
    if (const auto context = observe::parse_traceparent(text)) {
      (trusted ? parent : stranger) = *context;
    }
  }
  if (!tracestate.empty() && (!parent || !observe::is_valid_tracestate(tracestate))) {
    tracestate.clear();
  }
}

}  // namespace damper::http
