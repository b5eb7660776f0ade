#pragma once

#include <curl/curl.h>

#include "damper/decide/outcome.h"

namespace damper::curl {

// The outcome of a CURLcode. `sent`: whether any byte of the request, or of a redirected one, can
// have been sent.
//
// Why: CURLE_OPERATION_TIMEDOUT is the same code for a host that does not answer a SYN and for a
// response that is late. The first may always be repeated. Likewise CURLE_COULDNT_CONNECT: with
// CURLOPT_FOLLOWLOCATION the host of a redirect may refuse, after the request was sent.
//
//   resolving, connecting, TLS handshake                    transient, or unavailable if not sent
//   a timeout                                               timeout, or unavailable if not sent
//   reset, cut short, HTTP/2 and HTTP/3 errors, nonsense    transient, or unavailable if not sent
//   no connection free                                      overload
//   stopped by a callback                                   cancelled
//   the certificate, the URL, your own callbacks, the rest  permanent
// HTTP/2's REFUSED_STREAM is not among them: libcurl repeats such a request by itself, on another
// connection. CURLE_HTTP_RETURNED_ERROR is for classify_http; here it is permanent.
[[nodiscard]] decide::Outcome classify_curl(CURLcode code, bool sent) noexcept;

// Whether the last transfer of the handle can have sent any of its request, to its first host or to
// one that it was redirected to.
[[nodiscard]] bool request_was_sent(CURL* handle) noexcept;

}  // namespace damper::curl
