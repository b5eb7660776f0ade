#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace damper::webhooks {

// Why the API refuses a request: {"error": sentence, "code": code}.
struct ApiError {
  int status = 400;
  std::string_view code = "invalid";  // a word for programs; static
  std::string sentence{};
};

[[nodiscard]] inline ApiError invalid(std::string sentence) {
  return {.sentence = std::move(sentence)};
}

}  // namespace damper::webhooks
