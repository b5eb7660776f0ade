#ifndef DAMPER_HTTP_HEADERS_CRITICALITY_HEADER_H_
#define DAMPER_HTTP_HEADERS_CRITICALITY_HEADER_H_

#include <string_view>

namespace damper::http {

// How much the loss of a request would hurt: a name of admit::Criticality. A GuardedClient passes
// on what it inherited, a Guard reads it.
inline constexpr std::string_view kCriticalityHeader = "damper-criticality";

}  // namespace damper::http

#endif  // DAMPER_HTTP_HEADERS_CRITICALITY_HEADER_H_
