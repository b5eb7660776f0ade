#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/enum_names.h"

namespace damper::admit {

// A Criticality is the harm to users when a request is shed; the classes are those of the
// SRE book ("Handling Overload", 2016). In order, the most critical first.
enum class Criticality : std::uint8_t {
  critical_plus,   // Users see it at once, and gravely.
  critical,        // Users see it: the default of a request without a class.
  sheddable_plus,  // Batch work that is retried minutes later.
  sheddable,       // Its loss is expected, often.
};

inline constexpr EnumNames<Criticality::sheddable> kCriticalityNames = {
    "critical_plus", "critical", "sheddable_plus", "sheddable"};
inline constexpr std::size_t kCriticalities = kCriticalityNames.size();

[[nodiscard]] constexpr std::string_view name(Criticality criticality) noexcept {
  return kCriticalityNames[criticality];
}

}  // namespace damper::admit
