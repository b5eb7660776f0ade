#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "damper/base/expected.h"
#include "damper/http/client/blocking_client.h"
#include "damper/http/client/url.h"
#include "damper/run/dependency.h"

namespace damper::http {

// A CommandClient sends the requests of a command-line tool to one server: to a proxy's admin
// pages, to a dispatcher's API.
//
// Model: a request ends after 15 s. A missing response is one sentence with the next step.
// Thread safety: none.
class CommandClient {
 public:
  struct Options {
    std::string name;         // of its dependency
    std::string option;       // the option that has the address: "--admin"
    std::string example;      // an address: "http://127.0.0.1:9901"
    std::string when_absent;  // the next step if the connection is refused
    std::int32_t max_attempts = 1;
  };
  // `address` is a URL without a path; "127.0.0.1:9901" and ":9901" are http.
  [[nodiscard]] static Expected<CommandClient> open(Options options, const std::string& address);

  // Sent as a bearer token.
  void set_token(std::string token) { token_ = std::move(token); }
  [[nodiscard]] bool has_token() const noexcept { return !token_.empty(); }

  // The response, whatever its status. `idempotent`: as in RequestOptions.
  [[nodiscard]] Expected<Response> send(Request request, std::optional<bool> idempotent = {});

  // "127.0.0.1:9901"
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  CommandClient(Options options, const Endpoint& endpoint);
  [[nodiscard]] std::string explain(const HttpResult& result) const;

  Options options_;
  std::string where_;
  std::string token_{};
  std::unique_ptr<Dependency> dependency_;  // outlives the client
  std::unique_ptr<BlockingClient> client_;
};

}  // namespace damper::http
