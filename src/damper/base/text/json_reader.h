#ifndef DAMPER_BASE_TEXT_JSON_READER_H_
#define DAMPER_BASE_TEXT_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/expected.h"

namespace damper::text {

// What a text may make its reader keep.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} * 1024;
  std::size_t depth = 16;
  std::size_t values = 1000;  // those within others included
};

// A JsonValue is a value that was read.
//
// Model: plain data. A number is the text that it was: who wants it says whether it is a whole one,
// so that none of 64 bits is rounded. Of two fields of one name the text is refused, so that no two
// readers can take it for two things.
struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  std::string text{};  // of a string, without escapes, in UTF-8; of a number
  std::vector<JsonValue> items{};
  std::vector<std::pair<std::string, JsonValue>> fields{};

  // nullptr: there is none, or this is no object.
  [[nodiscard]] const JsonValue* find(std::string_view name) const noexcept;
  // Nothing when it is something else.
  [[nodiscard]] std::optional<bool> as_boolean() const noexcept;
  [[nodiscard]] std::optional<std::string_view> as_string() const noexcept;
  // Also of a string of digits, as protobuf's JSON writes 64 bits.
  [[nodiscard]] std::optional<std::int64_t> as_integer() const noexcept;
  // The nearest double; nothing also when it is too large for one.
  [[nodiscard]] std::optional<double> as_number() const noexcept;
};

// Reads one JSON value (RFC 8259), strictly, with nothing but space around it; or says in a
// sentence what is wrong, and at which byte.
//
// Why our own: the few documents that we take are small and hostile, and every bound is here.
// Cost: time and memory are proportional to the text's length.
[[nodiscard]] Expected<JsonValue> read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_JSON_READER_H_
