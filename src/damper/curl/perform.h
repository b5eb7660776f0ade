#ifndef DAMPER_CURL_PERFORM_H_
#define DAMPER_CURL_PERFORM_H_

#include <curl/curl.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "damper/base/instant.h"
#include "damper/run/dependency.h"
#include "damper/run/result.h"

namespace damper::curl {

// What you say of one transfer; the dependency's policy says the rest.
struct PerformOptions {
  std::string method{};  // the handle's: "GET", "POST"; libcurl does not tell it
  std::optional<bool>
      idempotent{};               // your word; else by `method`, or an Idempotency-Key in headers
  Instant deadline = kNever;      // damper::in(800ms); the policy's timeout holds as well
  std::stop_token stop{};         // ends the call: `cancelled`, within a second
  bool owned_above = false;       // a layer above retries this request
  std::string owner = "damper";   // who retries, for those below: damper-retry-owner
  curl_slist* headers = nullptr;  // the request's own; not with CURLOPT_HTTPHEADER
  Duration connect_timeout =
      std::chrono::seconds(1);  // over 0; the attempt's timeout holds as well
  // Called before each attempt but the first: empty what took the body, rewind what gives it.
  std::function<void()> rewind{};
};

// A guarded curl_easy_perform: retries, deadline, budget, breaker and all that the dependency's
// policy says, on this thread. The value is the status of an answer under 400 (0 where the protocol
// has none); a failure has the status that it was answered with.
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
// RateLimit-Reset are read from the answer. Without a method, a key or your word a request is
// repeated only if it surely never left. The options CURLOPT_HTTPHEADER, _TIMEOUT_MS,
// _CONNECTTIMEOUT_MS, _NOSIGNAL, _NOPROGRESS, _XFERINFOFUNCTION and _XFERINFODATA of the handle are
// used, and set back to their defaults, with `headers` as CURLOPT_HTTPHEADER. A handle makes one
// transfer at a time: the policy's hedging is not used here. Thread safety: as the handle's: one
// thread at a time.
[[nodiscard]] CallResult<long> perform(Dependency& dependency, const PerformOptions& options,
                                       CURL* handle);

}  // namespace damper::curl

#endif  // DAMPER_CURL_PERFORM_H_
