#pragma once

#include <memory>
#include <string>

#include "damper/base/expected.h"
#include "damper/base/text/stdio.h"
#include "damper/http/client/blocking_client.h"
#include "damper/http/client/url.h"

namespace damper::proxy {

// The exit status of a command that the proxy refused.
inline constexpr int kRefused = 1;

// Why there is no answer that says yes.
struct AdminClientError {
  std::string sentence;
  int status = 0;  // the exit status: kTrouble, or kRefused when the proxy said no
};

// An AdminClient asks a proxy's admin pages.
//
// Model: one attempt, kPatience long. Every error is a sentence that says what to do next.
// Thread safety: none.
class AdminClient {
 public:
  // `admin` is "http://127.0.0.1:9901", or without the scheme. The token file may be empty.
  [[nodiscard]] static Expected<AdminClient, AdminClientError> open(const std::string& admin,
                                                                    const std::string& token_file);

  // The body of a 200. `last_event` is of GET /events: the number that was seen last.
  [[nodiscard]] Expected<std::string, AdminClientError> get(const std::string& target,
                                                            const std::string& last_event = {});
  [[nodiscard]] Expected<std::string, AdminClientError> put(const std::string& target,
                                                            std::string json);
  [[nodiscard]] Expected<std::string, AdminClientError> post(const std::string& target);

  // "127.0.0.1:9901"
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  AdminClient(const http::Endpoint& endpoint, std::string token);
  [[nodiscard]] Expected<std::string, AdminClientError> ask(http::Request request);
  [[nodiscard]] AdminClientError refused(const http::Response& answer) const;

  std::string where_;
  std::string token_;
  std::unique_ptr<Dependency> dependency_;  // outlives the client
  std::unique_ptr<http::BlockingClient> client_;
};

}  // namespace damper::proxy
