#include "damper/http/client/command_client.h"

#include <chrono>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/client/http_result.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

constexpr Duration kCommandTimeout = std::chrono::seconds(15);  // A reload reads files.

engine::Policy command_policy(std::int32_t max_attempts) {
  engine::Policy policy;
  policy.call.max_attempts = max_attempts;
  policy.call.timeout = kCommandTimeout;
  return policy;
}

}  // namespace

CommandClient::CommandClient(Options options, const Endpoint& endpoint)
    : options_(std::move(options)),
      where_(endpoint.authority()),
      dependency_(
          std::make_unique<Dependency>(options_.name, command_policy(options_.max_attempts))),
      client_(std::make_unique<BlockingClient>(
          *dependency_, GuardedClientOptions{.endpoints = {endpoint.text()}})) {}

Expected<CommandClient> CommandClient::open(Options options, const std::string& address) {
  std::string url = address.starts_with(':') ? "127.0.0.1" + address : address;
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
  const auto endpoint = parse_endpoint(url);
  if (!endpoint) {
    return unexpected(options.option + " " + text::in_quotes(address) + ": " + endpoint.error() +
                      "; for example " + options.example);
  }
  return CommandClient(std::move(options), *endpoint);
}

Expected<Response> CommandClient::send(Request request, std::optional<bool> idempotent) {
  if (has_token()) request.fields.add("authorization", "Bearer " + token_);
  const HttpResult result = client_->request(
      std::move(request), {.deadline = in(kCommandTimeout), .idempotent = idempotent});
  if (result.answer() == nullptr) return unexpected(explain(result));
  return *result.answer();
}

std::string CommandClient::explain(const HttpResult& result) const {
  const std::error_code error = result.failure() ? result.failure()->error : std::error_code();
  if (error == CloseReason::connect_refused) {
    return "nothing listens on " + where_ + ": " + options_.when_absent;
  }
  if (error == CloseReason::name_not_resolved) {
    return where_ + " has no address: check " + options_.option;
  }
  if (error == CloseReason::malformed) {
    return "the server on " + where_ + " does not speak HTTP: check " + options_.option;
  }
  if (result.verdict() == Verdict::deadline_passed || error == CloseReason::connect_timeout) {
    return where_ + " does not answer: is the host reachable, and the process stuck?";
  }
  return where_ + " sent no complete response (" +
         (error ? error.message() : std::string(name(result.verdict()))) + "); try again";
}

}  // namespace damper::http
