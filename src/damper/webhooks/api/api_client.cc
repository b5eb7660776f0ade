#include "damper/webhooks/api/api_client.h"

#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/headers/idempotency_key.h"
#include "damper/http/server/local_access.h"
#include "damper/webhooks/model/endpoint.h"

namespace damper::webhooks {
namespace {

constexpr text::JsonLimits kAnswerLimits{
    .bytes = std::size_t{64} << 20, .depth = 100, .values = 5'000'000};

ApiClientError trouble(std::string sentence) {
  return {.sentence = std::move(sentence), .status = text::kTrouble};
}

}  // namespace

Expected<ApiClient, ApiClientError> ApiClient::open(const Options& options) {
  auto client = http::CommandClient::open(
      {.name = "webhooks",
       .option = "--server",
       .example = "http://127.0.0.1:8071",
       .when_absent = "start it with damper webhooks serve, or give its address with --server",
       .max_attempts = 3},
      options.server);
  if (!client) return unexpected(trouble(client.error()));
  if (!is_application_name(options.application)) {
    return unexpected(trouble("--application " + text::in_quotes(options.application) +
                              " is not the name of an application"));
  }
  if (!options.token_file.empty()) {
    auto token = http::read_token(options.token_file);
    if (!token) return unexpected(trouble(token.error()));
    client->set_token(*std::move(token));
  }
  return ApiClient(*std::move(client), options.application);
}

ApiClient::Result ApiClient::post(const std::string& target, std::string json, bool repeatable) {
  return ask("POST", target, std::move(json),
             repeatable ? http::make_idempotency_key() : std::string());
}

ApiClient::Result ApiClient::ask(std::string method, const std::string& target, std::string json,
                                 const std::string& key) {
  http::Request request;
  request.method = std::move(method);
  request.target = target;
  if (!json.empty()) request.fields.add("content-type", "application/json");
  if (!key.empty()) request.fields.add("idempotency-key", key);
  request.body = std::move(json);
  auto answer = client_.send(std::move(request));
  if (!answer) return unexpected(trouble(answer.error()));
  if (answer->status >= 300) return unexpected(refused(*answer));
  ApiAnswer good{.text = std::move(answer->body), .json = {}};
  if (answer->status == 204) return good;
  auto read = text::read_json(good.text, kAnswerLimits);
  if (!read) {
    return unexpected(trouble("the server on " + where() +
                              " is not a damper dispatcher; give its address with --server"));
  }
  good.json = *std::move(read);
  return good;
}

ApiClientError ApiClient::refused(const http::Response& answer) const {
  const auto read = text::read_json(answer.body);
  const text::JsonValue* const sentence = read ? read->find("error") : nullptr;
  if (sentence == nullptr) {
    return trouble("the server on " + where() + " is not a damper dispatcher (status " +
                   std::to_string(answer.status) + "); give its address with --server");
  }
  std::string text = text::on_one_line(sentence->text);
  if (answer.status == 401) {
    text += client_.has_token() ? "; is --token-file the one of this dispatcher?"
                                : "; give its file with --token-file";
  }
  return {.sentence = std::move(text), .status = ApiClientError::kRefused, .answer = answer.status};
}

}  // namespace damper::webhooks
