#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/server/handler.h"

namespace damper::http {

// An exchange without a connection: what was answered can be looked at, and the caller can go away.
class FakeExchange final : public Exchange {
 public:
  explicit FakeExchange(Request request, Instant arrived = Instant{}) {
    request_ = std::move(request);
    arrived_ = arrived;
  }

  void respond(Response response) override {
    if (is_over()) return;
    answer = std::move(response);
    give_up_.clear();
  }
  [[nodiscard]] bool is_over() const noexcept override { return gone_ || answer.has_value(); }
  void on_cancel(std::function<void()> give_up) override {
    if (gone_) return give_up();
    give_up_.push_back(std::move(give_up));
  }

  // The caller goes away.
  void go_away() {
    if (is_over()) return;
    gone_ = true;
    for (const auto& give_up : std::exchange(give_up_, {})) give_up();
  }
  [[nodiscard]] int status() const noexcept { return answer ? answer->status : 0; }
  [[nodiscard]] std::string field(std::string_view name) const {
    return answer ? std::string(answer->fields.find(name).value_or("")) : "";
  }

  std::optional<Response> answer;

 private:
  std::vector<std::function<void()>> give_up_;
  bool gone_ = false;
};

[[nodiscard]] inline std::shared_ptr<FakeExchange> fake_exchange(std::string method,
                                                                 std::string target = "/",
                                                                 FieldList fields = {},
                                                                 std::string body = {},
                                                                 Instant arrived = Instant{}) {
  Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.fields = std::move(fields);
  request.body = std::move(body);
  return std::make_shared<FakeExchange>(std::move(request), arrived);
}

}  // namespace damper::http
