#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/expected.h"

namespace damper::text {

// Limits of a JSON text.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} * 1024;
  std::size_t depth = 16;
  std::size_t values = 1000;  // including nested ones
  // A field of the outermost object whose value is checked, but not stored: only its range of
  // bytes is. `values` and the check for duplicate names do not apply inside of it.
  std::string_view raw_field{};
};

// A JsonValue is a parsed JSON value.
//
// Model: plain data. A number is stored as its text and converted on access, so that 64-bit
// integers are not rounded. A duplicate field name is an error, so that no two parsers read it
// differently.
struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  std::string text{};  // string: unescaped UTF-8; number: as written
  std::vector<JsonValue> items{};
  std::vector<std::pair<std::string, JsonValue>> fields{};
  // Its range in the text that was parsed.
  std::size_t begin = 0;
  std::size_t end = 0;

  // nullptr when there is no such field or this is not an object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  // nullopt for other kinds.
  [[nodiscard]] std::optional<bool> as_boolean() const noexcept;
  [[nodiscard]] std::optional<std::string_view> as_string() const noexcept;
  // Also for a string of digits, as protobuf's JSON writes 64-bit integers.
  [[nodiscard]] std::optional<std::int64_t> as_integer() const noexcept;
  // The nearest double; nullopt also when it is out of range.
  [[nodiscard]] std::optional<double> as_number() const noexcept;
};

// Parses one JSON value (RFC 8259), strictly, with only white space around it. The error is a
// sentence with the byte position.
//
// Why not a library: the documents are few, small and untrusted, and all limits are in one place.
// Cost: time and memory are linear in the length of the text.
[[nodiscard]] Expected<JsonValue> read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace damper::text
