#include "damper/proxy/admin/admin_client.h"

#include <string_view>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/url.h"
#include "damper/proxy/admin/admin_access.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using http::CloseReason;

constexpr Duration kPatience = std::chrono::seconds(15);  // A reload reads files.

engine::Policy once() {
  engine::Policy policy;
  policy.call.max_attempts = 1;
  policy.call.timeout = kPatience;
  return policy;
}

AdminClientError trouble(std::string sentence) {
  return {.sentence = std::move(sentence), .status = text::kTrouble};
}

std::string no_answer(const http::HttpResult& result, const std::string& where) {
  const auto* const failure = result.failure() ? &*result.failure() : nullptr;
  if (failure != nullptr && failure->error == CloseReason::connect_refused) {
    return "nobody listens on " + where +
           ": is the proxy running, with admin on? --admin says where";
  }
  if (failure != nullptr && failure->error == CloseReason::name_not_resolved) {
    return where + " has no address; --admin says where the proxy's admin pages are";
  }
  if (failure != nullptr && failure->error == CloseReason::malformed) {
    return "what listens on " + where + " does not speak HTTP; --admin says where the proxy does";
  }
  if (result.verdict() == Verdict::deadline_passed ||
      (failure != nullptr && failure->error == CloseReason::connect_timeout)) {
    return where + " does not answer: is the host reachable, and the process stuck?";
  }
  const std::string why = failure != nullptr ? failure->error.message() : "";
  return where + " gave no whole answer (" +
         (why.empty() ? std::string(name(result.verdict())) : why) + "); try again";
}

}  // namespace

AdminClient::AdminClient(const http::Endpoint& endpoint, std::string token)
    : where_(endpoint.authority()),
      token_(std::move(token)),
      dependency_(std::make_unique<Dependency>("admin", once())),
      client_(std::make_unique<http::BlockingClient>(
          *dependency_, http::GuardedClientOptions{.endpoints = {endpoint.text()}})) {}

Expected<std::string, AdminClientError> AdminClient::ask(http::Request request) {
  if (!token_.empty()) request.fields.add("authorization", "Bearer " + token_);
  const http::HttpResult result =
      client_->request(std::move(request), {.deadline = in(kPatience), .idempotent = true});
  const http::Response* const answer = result.answer();
  if (answer == nullptr) return unexpected(trouble(no_answer(result, where_)));
  if (answer->status == 200) return answer->body;
  return unexpected(refused(*answer));
}

AdminClientError AdminClient::refused(const http::Response& answer) const {
  const bool ours = answer.fields.find("content-type").value_or("").starts_with("text/plain");
  std::string_view body = answer.body;
  while (body.ends_with('\n')) body.remove_suffix(1);
  if (!ours || body.empty()) {
    return trouble("what answers on " + where_ + " is no damper proxy (status " +
                   std::to_string(answer.status) + "); --admin says where it is");
  }
  std::string sentence = text::on_one_line(body);
  if (answer.status == 401) {
    sentence += token_.empty() ? "; --token-file says where it is"
                               : "; is --token-file the one of this proxy?";
  }
  return {.sentence = std::move(sentence), .status = kRefused};
}

Expected<AdminClient, AdminClientError> AdminClient::open(const std::string& admin,
                                                          const std::string& token_file) {
  std::string url = admin.starts_with(':') ? "127.0.0.1" + admin : admin;
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
  const auto endpoint = http::parse_endpoint(url);
  if (!endpoint) {
    return unexpected(trouble("--admin " + text::in_quotes(admin) + ": " + endpoint.error() +
                              "; for example http://127.0.0.1:9901"));
  }
  std::string token;
  if (!token_file.empty()) {
    auto read = proxy::read_token(token_file);
    if (!read) return unexpected(trouble(read.error()));
    token = *std::move(read);
  }
  return AdminClient(*endpoint, std::move(token));
}

Expected<std::string, AdminClientError> AdminClient::get(const std::string& target,
                                                         const std::string& last_event) {
  http::Request request;
  request.target = target;
  if (!last_event.empty()) request.fields.add("last-event-id", last_event);
  return ask(std::move(request));
}

Expected<std::string, AdminClientError> AdminClient::put(const std::string& target,
                                                         std::string json) {
  http::Request request;
  request.method = "PUT";
  request.target = target;
  request.fields.add("content-type", "application/json");
  request.body = std::move(json);
  return ask(std::move(request));
}

Expected<std::string, AdminClientError> AdminClient::post(const std::string& target) {
  http::Request request;
  request.method = "POST";
  request.target = target;
  return ask(std::move(request));
}

}  // namespace damper::proxy
