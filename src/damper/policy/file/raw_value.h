#ifndef DAMPER_POLICY_FILE_RAW_VALUE_H_
#define DAMPER_POLICY_FILE_RAW_VALUE_H_

#include <cstdint>
#include <type_traits>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::policy {

// Raw values (see schema.h) of the types that options are made of.
constexpr std::int64_t to_raw(Duration value) { return value.count(); }
constexpr std::int64_t to_raw(Percent value) { return value.hundredths(); }
template <class T>
  requires(std::is_enum_v<T> || std::is_arithmetic_v<T>)
constexpr std::int64_t to_raw(T value) {
  return static_cast<std::int64_t>(value);
}
template <class T>
constexpr T from_raw(std::int64_t raw) {
  if constexpr (std::is_same_v<T, Percent>) {
    return Percent::from_hundredths(static_cast<std::int32_t>(raw));
  } else {
    return static_cast<T>(raw);
  }
}

}  // namespace damper::policy

#endif  // DAMPER_POLICY_FILE_RAW_VALUE_H_
