#pragma once

#include <span>

#include "damper/base/unix_time.h"
#include "damper/decide/outcome.h"
#include "damper/http/codec/head.h"
#include "damper/policy/file/retry_on.h"

namespace damper::proxy {

// The report of a response to the engine, from the part that was received.
//
// Model: an HTTP response is judged by its status, Retry-After and RateLimit-Reset; a gRPC response
// with status 200 by grpc-status and grpc-retry-pushback-ms, in the head of a trailers-only
// response, else in the trailers. A gRPC head without grpc-status is a success so far. The policy's
// retry_on excludes statuses from retries.
// Cost: no allocation; one comparison for an HTTP success. `now` is the wall time, for dates.
[[nodiscard]] decide::Report report_of_head(const http::Head& answer,
                                            const policy::RetryOn& retry_on, UnixTime now);
// For a complete response; `head` is the result of report_of_head().
[[nodiscard]] decide::Report report_of_trailers(const decide::Report& head,
                                                std::span<const http::Field> trailers,
                                                const policy::RetryOn& retry_on);

}  // namespace damper::proxy
