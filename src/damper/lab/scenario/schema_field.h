#ifndef DAMPER_LAB_SCENARIO_SCHEMA_FIELD_H_
#define DAMPER_LAB_SCENARIO_SCHEMA_FIELD_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/lab/scenario/scenario_schema.h"

namespace damper::lab {

// What the schema's tables are made of: rows whose value is one field of a thing.

// A field as a Value, and back.
template <class F>
[[nodiscard]] Value to_value(const F& field) {
  if constexpr (std::is_same_v<F, Duration>) {
    return field.count();
  } else if constexpr (std::is_enum_v<F> || std::is_integral_v<F>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (std::is_same_v<F, std::vector<std::int32_t>>) {
    return std::vector<double>(field.begin(), field.end());
  } else if constexpr (std::is_same_v<F, std::optional<double>>) {
    return field ? Value(*field) : Value();
  } else {
    return field;
  }
}

template <class F>
void from_value(Value&& value, F& field) {
  if constexpr (std::is_same_v<F, Duration>) {
    field = Duration{std::get<std::int64_t>(value)};
  } else if constexpr (std::is_enum_v<F> || std::is_integral_v<F>) {
    field = static_cast<F>(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<F, std::vector<std::int32_t>>) {
    field.clear();
    for (const double number : std::get<std::vector<double>>(value)) {
      field.push_back(static_cast<std::int32_t>(number));
    }
  } else if constexpr (std::is_same_v<F, std::optional<double>>) {
    field = std::get<double>(value);
  } else {
    field = std::get<F>(std::move(value));
  }
}

// `Field` takes the thing and returns the field.
template <class T, auto Field>
[[nodiscard]] constexpr SchemaKey<T> field(std::string_view path, const Form& form,
                                           std::string_view doc) {
  return {.path = path,
          .form = form,
          .doc = doc,
          .get = [](const T& thing) { return to_value(Field(thing)); },
          .set = [](T& thing, Value&& value) { from_value(std::move(value), Field(thing)); }};
}

// The same for one that has no value, and no default, as long as it is zero.
template <class T, auto Field>
[[nodiscard]] constexpr SchemaKey<T> said_field(std::string_view path, const Form& form,
                                                std::string_view doc) {
  SchemaKey<T> key = field<T, Field>(path, form, doc);
  key.get = [](const T& thing) {
    const auto& value = Field(thing);
    return value == std::remove_cvref_t<decltype(value)>{} ? Value() : to_value(value);
  };
  return key;
}

template <class T>
[[nodiscard]] constexpr SchemaKey<T> required(SchemaKey<T> key) {
  key.required = true;
  return key;
}

// Forms.
[[nodiscard]] constexpr Form duration(Duration low, Duration high,
                                      std::optional<std::int64_t> off = {}) {
  return {ValueKind::duration,
          static_cast<double>(low.count()),
          static_cast<double>(high.count()),
          {},
          off};
}
[[nodiscard]] constexpr Form integer(double low, double high) {
  return {ValueKind::integer, low, high, {}, {}};
}
[[nodiscard]] constexpr Form number(double low, double high) {
  return {ValueKind::number, low, high, {}, {}};
}
[[nodiscard]] constexpr Form choice(std::span<const std::string_view> names) {
  return {ValueKind::choice, 0, static_cast<double>(std::ssize(names) - 1), names, {}};
}
inline constexpr Form kBoolean = {ValueKind::boolean, 0, 1, {}, {}};
inline constexpr Form kShare = {ValueKind::share, 0, 1, {}, {}};
inline constexpr Form kDistribution = {ValueKind::distribution, 0, 0, {}, {}};
inline constexpr Form kName = {ValueKind::name, 0, 0, {}, {}};

inline constexpr Duration kTick{1};  // The least duration over zero.
inline constexpr Duration kDay = std::chrono::hours(24);

// What a service or a fault can answer instead of a success: kOutcomeNames from transient to
// permanent.
inline constexpr std::span<const std::string_view> kAnswerNames(decide::kOutcomeNames.data() + 1,
                                                                6);
template <class T, auto Field>
[[nodiscard]] constexpr SchemaKey<T> answer(std::string_view path, std::string_view doc) {
  return {
      .path = path,
      .form = choice(kAnswerNames),
      .doc = doc,
      .get = [](const T& thing) -> Value { return static_cast<std::int64_t>(Field(thing)) - 1; },
      .set =
          [](T& thing, Value&& value) {
            Field(thing) = static_cast<decide::Outcome>(std::get<std::int64_t>(value) + 1);
          }};
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): the path of a member takes none.
#define DAMPER_LAB_FIELD(expression) [](auto& t) -> auto& { return t.expression; }

}  // namespace damper::lab

#endif  // DAMPER_LAB_SCENARIO_SCHEMA_FIELD_H_
