#include "damper/curl/classify_curl.h"

namespace damper::curl {

using decide::Outcome;

Outcome classify_curl(CURLcode code, bool sent) noexcept {
  switch (code) {
    case CURLE_OK: return Outcome::success;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_QUIC_CONNECT_ERROR:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_HTTP3:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_AGAIN: return sent ? Outcome::transient : Outcome::unavailable;
    case CURLE_OPERATION_TIMEDOUT: return sent ? Outcome::timeout : Outcome::unavailable;
    case CURLE_NO_CONNECTION_AVAILABLE: return Outcome::overload;
    case CURLE_ABORTED_BY_CALLBACK: return Outcome::cancelled;
    default: return Outcome::permanent;
  }
}

bool request_was_sent(CURL* handle) noexcept {
  long bytes = 0;  // of all requests of the transfer
  if (curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &bytes) != CURLE_OK) return true;
  return bytes > 0;
}

}  // namespace damper::curl
