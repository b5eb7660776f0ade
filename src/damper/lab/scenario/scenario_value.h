#ifndef DAMPER_LAB_SCENARIO_SCENARIO_VALUE_H_
#define DAMPER_LAB_SCENARIO_SCENARIO_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "damper/base/expected.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/distribution.h"

namespace damper::lab {

// The values that a scenario file is made of: from YAML to a Value within its bounds, and back.
//
// Why: what a policy file has as well is read by the policy's own code, so that 250ms means the
// same in both. Added is what a world needs: plain numbers, shares, distributions and lists.
// Model: a Form is what a value must be. A Value is what it is, held as the plainest type that can
// hold it; std::monostate is one that nobody has said and that has no default.

enum class ValueKind : std::uint8_t {
  duration,      // 250ms; held as nanoseconds
  integer,       // held as itself
  boolean,       // true or false; held as 0 or 1
  choice,        // one of names; held as its index
  number,        // 2.5
  share,         // 0.1 or 10%; held as 0.1
  distribution,  // exponential(5ms), see distribution.h
  name,          // 1 to 100 letters, digits or . _ -
  text,          // up to 1000 characters
  numbers,       // [1, 2.5] or {from: 1, to: 3, step: 1}
  wholes,        // [0, 2]
};

inline constexpr std::size_t kMostNumbers = 1000;  // in a list
inline constexpr std::size_t kMostText = 1000;

struct Form {
  ValueKind kind = ValueKind::integer;
  double low = 0;  // both ends are accepted; nanoseconds of a duration
  double high = 0;
  std::span<const std::string_view> names{};
  std::optional<std::int64_t> off{};  // what the word `off` stands for, where it is accepted
};

using Value = std::variant<std::monostate, std::int64_t, double, Distribution, std::string,
                           std::vector<double>>;

// Whether it can be the name of a scenario, a variant, a service or a group of clients.
[[nodiscard]] bool is_name(std::string_view text);

// What the tree says, within the bounds; else one sentence that calls it `key` and says what is
// accepted.
[[nodiscard]] Expected<Value> read_value(std::string_view key, const Form& form,
                                         const config::Tree& tree);

// One sentence when the value is not within the bounds. REQUIRES: it is of the form's kind.
[[nodiscard]] std::optional<std::string> find_error(std::string_view key, const Form& form,
                                                    const Value& value);

// "a duration from 1ns to 24h, such as 250ms, 2s or 1.5m": what a value must be.
[[nodiscard]] std::string accepted(const Form& form);

// The value as read_value() reads it; "none" for what nobody has said.
[[nodiscard]] std::string write_value(const Form& form, const Value& value);

}  // namespace damper::lab

#endif  // DAMPER_LAB_SCENARIO_SCENARIO_VALUE_H_
