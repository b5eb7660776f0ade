#pragma once

#include <curl/curl.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "damper/base/instant.h"
#include "damper/run/dependency.h"
#include "damper/run/result.h"

namespace damper::curl {

// Options of one transfer, beside the dependency's policy.
struct PerformOptions {
  std::string method{};              // the handle's: "GET", "POST"; libcurl does not expose it
  std::optional<bool> idempotent{};  // overrides `method` and an Idempotency-Key in headers
  Instant deadline = kNever;         // damper::in(800ms); the policy's timeout applies too
  std::stop_token stop{};            // ends the call: `cancelled`, within a second
  bool owned_above = false;          // a layer above retries this request
  std::string owner = "damper";      // sent as damper-retry-owner if this call retries
  curl_slist* headers = nullptr;     // the request's own; not with CURLOPT_HTTPHEADER
  Duration connect_timeout = std::chrono::seconds(1);  // over 0; the attempt's timeout applies too
  // Called before each attempt except the first: clear the received body, rewind the sent one.
  std::function<void()> rewind{};
};

// A guarded curl_easy_perform: retries, deadline, budget and breaker by the dependency's policy, on
// this thread. The value is the status of a response under 400 (0 if the protocol has none); a
// failure has the status of the response.
//   std::string body;
//   curl_easy_setopt(handle, CURLOPT_URL, "http://billing/invoices/7");
//   ...                                                   // CURLOPT_WRITEFUNCTION appends to body
//   auto status = damper::curl::perform(billing, {.method = "GET", .rewind = [&] { body.clear();
//   }},
//                                       handle);
//
// Model: each attempt gets x-request-deadline with the time that is left for it, and, where this
// call or one around it owns the retries, the owner's damper-retry-owner and damper-attempt,
// besides `headers`; those of the same names in `headers` are left out. Retry-After and
// RateLimit-Reset are read from the answer. Without `method`, a key or `idempotent` a request is
// repeated only if no byte of it was sent. The options CURLOPT_HTTPHEADER, _TIMEOUT_MS,
// _CONNECTTIMEOUT_MS, _NOSIGNAL, _NOPROGRESS, _XFERINFOFUNCTION and _XFERINFODATA of the handle are
// used, and set back to their defaults, with `headers` as CURLOPT_HTTPHEADER. A handle makes one
// transfer at a time: the policy's hedging is not used here.
// Thread safety: as the handle's: one thread at a time.
[[nodiscard]] CallResult<long> perform(Dependency& dependency, const PerformOptions& options,
                                       CURL* handle);

}  // namespace damper::curl
