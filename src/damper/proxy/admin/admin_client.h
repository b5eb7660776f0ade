#pragma once

#include <string>
#include <utility>

#include "damper/base/expected.h"
#include "damper/base/text/stdio.h"
#include "damper/http/client/command_client.h"

namespace damper::proxy {

// The exit status of a command that the proxy refused.
inline constexpr int kRefused = 1;

// The reason of a request without a 200.
struct AdminClientError {
  std::string sentence;
  int status = 0;  // the exit status: kTrouble, or kRefused if the proxy refused
};

// An AdminClient sends requests to a proxy's admin pages: one attempt each. Every error is a
// sentence with the next step.
// Thread safety: none.
class AdminClient {
 public:
  // `admin` is "http://127.0.0.1:9901", or without the scheme. The token file may be empty.
  [[nodiscard]] static Expected<AdminClient, AdminClientError> open(const std::string& admin,
                                                                    const std::string& token_file);

  // The body of a 200. `last_event`, for GET /events: the number of the last event received.
  [[nodiscard]] Expected<std::string, AdminClientError> get(const std::string& target,
                                                            const std::string& last_event = {});
  [[nodiscard]] Expected<std::string, AdminClientError> put(const std::string& target,
                                                            std::string json);
  [[nodiscard]] Expected<std::string, AdminClientError> post(const std::string& target);

  // "127.0.0.1:9901"
  [[nodiscard]] const std::string& where() const noexcept { return client_.where(); }

 private:
  explicit AdminClient(http::CommandClient client) : client_(std::move(client)) {}
  [[nodiscard]] Expected<std::string, AdminClientError> send(http::Request request);
  [[nodiscard]] AdminClientError refused(const http::Response& answer) const;

  http::CommandClient client_;
};

}  // namespace damper::proxy
