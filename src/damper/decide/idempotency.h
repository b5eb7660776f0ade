#pragma once

#include <optional>
#include <string_view>

namespace damper::decide {

// Whether a request of this method only reads: RFC 9110, section 9.2.1. Two of them at once do no
// harm, whatever their order. An idempotent write is not safe: a second PUT with If-Match fails
// because the first has succeeded.
[[nodiscard]] constexpr bool safe_method(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

// Whether repeating a request of this method is no different from making it once: RFC 9110,
// section 9.2.2. Methods are case-sensitive: "get" is an unknown method.
[[nodiscard]] constexpr bool idempotent_method(std::string_view method) noexcept {
  return safe_method(method) || method == "PUT" || method == "DELETE";
}

// Idempotency is the reason why a request may be repeated although it may have been executed
// already.
//
// Model: the caller's setting has priority, in both directions: it can forbid the repetition of a
// GET with side effects, and allow that of a POST that the server deduplicates. Without a setting
// an idempotent method or an idempotency key allows it. By default an unknown operation is sent
// once.
struct Idempotency {
  bool by_method = false;
  bool by_key = false;          // It carries an Idempotency-Key.
  std::optional<bool> by_word;  // The caller's setting, if there is one.

  [[nodiscard]] constexpr bool repeatable() const noexcept {
    return by_word.value_or(by_method || by_key);
  }
};

// The idempotency of an HTTP request. `key` is the value of its Idempotency-Key header; empty when
// there is none, and an empty key is none.
[[nodiscard]] constexpr Idempotency idempotency(std::string_view method,
                                                std::string_view key = {}) noexcept {
  return {.by_method = idempotent_method(method), .by_key = !key.empty(), .by_word = std::nullopt};
}

}  // namespace damper::decide
