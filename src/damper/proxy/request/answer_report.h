#ifndef DAMPER_PROXY_REQUEST_ANSWER_REPORT_H_
#define DAMPER_PROXY_REQUEST_ANSWER_REPORT_H_

#include <span>

#include "damper/base/unix_time.h"
#include "damper/decide/outcome.h"
#include "damper/http/codec/head.h"
#include "damper/policy/file/retry_on.h"

namespace damper::proxy {

// What an answer says about trying again, as far as it has come.
//
// Model: an answer of HTTP by its status, Retry-After and RateLimit-Reset; one of gRPC with status
// 200 by grpc-status and grpc-retry-pushback-ms, in the head where there is nothing but a head
// (trailers-only), else in the trailers. A head of gRPC without grpc-status is a success so far.
// The policy's retry_on says what it leaves out.
// Cost: no allocation; a success of HTTP is one comparison. `now` is the wall time, for dates.
[[nodiscard]] decide::Report report_of_head(const http::Head& answer,
                                            const policy::RetryOn& retry_on, UnixTime now);
// For an answer that is whole; `head` is what report_of_head() said of its beginning.
[[nodiscard]] decide::Report report_of_trailers(const decide::Report& head,
                                                std::span<const http::Field> trailers,
                                                const policy::RetryOn& retry_on);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_ANSWER_REPORT_H_
