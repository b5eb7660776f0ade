// How an HTTP service reads and forwards the headers for the deadline and the retry owner.

#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "damper/damper.h"
#include "damper/decide/idempotency.h"
#include "damper/decide/layering.h"
#include "damper/decide/retry_after.h"
#include "damper/schedule/deadline_header.h"

using namespace std::chrono_literals;

namespace {

using Headers = std::map<std::string, std::string>;

struct Answer {
  int status = 0;
  Headers headers;
};

std::string find(const Headers& headers, std::string_view name) {
  const auto found = headers.find(std::string(name));
  return found == headers.end() ? std::string() : found->second;
}

// Stands for your HTTP client: the first answer is an overload with Retry-After.
Answer send(const Headers& request) {
  std::cout << "attempt " << find(request, "damper-attempt") << " of "
            << find(request, "damper-retry-owner") << '\n';
  if (find(request, "damper-attempt") == "1") return {429, {{"retry-after", "0"}}};
  return {200, {}};
}

// [incoming]
damper::Options options_for(const std::string& method, const Headers& incoming) {
  const auto layer = damper::decide::read_layer(
      {.retry_owner = find(incoming, "damper-retry-owner"),
       .attempt = find(incoming, "damper-attempt"),
       .envoy_attempt_count = find(incoming, "x-envoy-attempt-count"),
       .grpc_previous_attempts = find(incoming, "grpc-previous-rpc-attempts")});
  const auto idempotency = damper::decide::idempotency(method, find(incoming, "idempotency-key"));
  const auto remaining = damper::schedule::find_grpc_timeout(find(incoming, "grpc-timeout"));
  return {.idempotent = idempotency.repeatable(),
          .deadline = remaining ? damper::in(*remaining) : damper::kNever,
          .owned_above = layer.owned_above};
}
// [/incoming]

// [outgoing]
damper::Result<Answer> attempt_http(const damper::Attempt& attempt, const damper::Options& options,
                                    const Headers& incoming) {
  Headers request;
  request["grpc-timeout"] = damper::schedule::format_grpc_timeout(attempt.timeout());
  if (options.owned_above) {  // forward it downwards
    request["damper-retry-owner"] = find(incoming, "damper-retry-owner");
    request["damper-attempt"] = find(incoming, "damper-attempt");
  } else if (options.idempotent) {  // this layer retries: those below do not
    request["damper-retry-owner"] = "checkout";
    request["damper-attempt"] = std::to_string(attempt.number());
  }
  const Answer answer = send(request);
  if (answer.status < 400) return answer;
  const auto wall_now =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto retry_after =
      damper::decide::find_retry_after(find(answer.headers, "retry-after"), wall_now);
  return damper::failed_http(answer.status, retry_after);
}
// [/outgoing]

}  // namespace

int main() {
  damper::Dependency billing("billing");
  const auto handle = [&](const Headers& incoming) {
    const damper::Options options = options_for("GET", incoming);
    const auto answer = damper::call(billing, options, [&](const damper::Attempt& attempt) {
      return attempt_http(attempt, options, incoming);
    });
    std::cout << damper::name(answer.verdict()) << '\n';
  };
  handle({{"grpc-timeout", "2S"}});
  handle({{"damper-retry-owner", "gateway"}, {"damper-attempt", "1"}});
  return 0;
}
