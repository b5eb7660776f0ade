#pragma once

#include <string>
#include <utility>

#include "damper/base/expected.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/stdio.h"
#include "damper/http/client/command_client.h"

namespace damper::webhooks {

// Why there is no answer that says yes.
struct ApiClientError {
  static constexpr int kRefused = 1;
  std::string sentence;
  int status = 0;  // the exit status: text::kTrouble, or kRefused when the dispatcher refused
  int answer = 0;  // the status of its answer; 0: there is none
};

// The body of an answer: as text, and parsed.
struct ApiAnswer {
  std::string text;
  text::JsonValue json;
};

// An ApiClient sends requests to a dispatcher's API: for commands.
//
// Model: a request that may be repeated is sent up to three times. An error is a sentence with the
// next step.
// Thread safety: none.
class ApiClient {
 public:
  struct Options {
    std::string server = "http://127.0.0.1:8071";
    std::string token_file{};  // one token; empty: none
    std::string application = "default";
  };
  [[nodiscard]] static Expected<ApiClient, ApiClientError> open(const Options& options);

  using Result = Expected<ApiAnswer, ApiClientError>;
  [[nodiscard]] Result get(const std::string& target) { return ask("GET", target, {}); }
  // With an idempotency key, if `repeatable`: then it may be sent again after a lost connection.
  [[nodiscard]] Result post(const std::string& target, std::string json, bool repeatable = false);
  [[nodiscard]] Result patch(const std::string& target, std::string json) {
    return ask("PATCH", target, std::move(json));
  }
  [[nodiscard]] Result put(const std::string& target, std::string json) {
    return ask("PUT", target, std::move(json));
  }
  [[nodiscard]] Result del(const std::string& target) { return ask("DELETE", target, {}); }

  // "/v1/applications/default" and the rest.
  [[nodiscard]] std::string of_application(const std::string& rest) const {
    return "/v1/applications/" + application_ + rest;
  }
  // "127.0.0.1:8071"
  [[nodiscard]] const std::string& where() const noexcept { return client_.where(); }

 private:
  ApiClient(http::CommandClient client, std::string application)
      : client_(std::move(client)), application_(std::move(application)) {}
  [[nodiscard]] Result ask(std::string method, const std::string& target, std::string json,
                           const std::string& key = {});
  [[nodiscard]] ApiClientError refused(const http::Response& answer) const;

  http::CommandClient client_;
  std::string application_;
};

}  // namespace damper::webhooks
