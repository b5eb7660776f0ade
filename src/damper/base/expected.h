#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "damper/base/check.h"

namespace damper {

// An Expected<T, E> is either a T or the error E: std::expected, for
// C++20. Build one from a value or from `unexpected(error)`.
template <class E>
struct Unexpected {
  E error;
};

template <class E>
[[nodiscard]] constexpr Unexpected<std::decay_t<E>> unexpected(E&& error) {
  return {std::forward<E>(error)};
}

template <class T, class E = std::string>
class [[nodiscard]] Expected {
 public:
  constexpr Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
    requires std::is_constructible_v<E, F>
  constexpr Expected(Unexpected<F> error)
      : state_(std::in_place_index<1>, std::move(error.error)) {}

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return state_.index() == 0; }

  // REQUIRES: *this holds a value.
  constexpr T& operator*() & { return value(); }
  constexpr const T& operator*() const& { return const_cast<Expected*>(this)->value(); }
  constexpr T&& operator*() && { return std::move(value()); }
  constexpr T* operator->() { return &value(); }
  constexpr const T* operator->() const { return &**this; }

  // REQUIRES: *this holds an error.
  [[nodiscard]] constexpr const E& error() const {
    const E* error = std::get_if<1>(&state_);
    DAMPER_CHECK(error != nullptr);
    return *error;
  }
  [[nodiscard]] constexpr E& error() {
    return const_cast<E&>(static_cast<const Expected*>(this)->error());
  }
  [[nodiscard]] constexpr E take_error() && { return std::move(error()); }

 private:
  constexpr T& value() {
    T* value = std::get_if<0>(&state_);
    DAMPER_CHECK(value != nullptr);
    return *value;
  }

  std::variant<T, E> state_;
};

}  // namespace damper
