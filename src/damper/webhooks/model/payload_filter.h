#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/text/json_reader.h"

namespace damper::webhooks {

// A PayloadFilter selects messages by fields of their payload: each path has to have its value.
//
//   {"data.country": "DE", "data.live": "true"}
//
// Model: a path is names of object fields with "." between them. A value is compared as text: of a
// string its characters, of a number as it is written, of a boolean true or false. Nothing else
// matches: neither null, nor an array, nor an object, nor a field that is missing.
using PayloadFilter = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t kMostFilterFields = 16;
inline constexpr std::size_t kMostFilterBytes = 256;  // of a path, and of a value

// A sentence on what is wrong; nothing when it is valid.
[[nodiscard]] std::optional<std::string> find_filter_error(const PayloadFilter& filter);

[[nodiscard]] bool matches(const PayloadFilter& filter, const text::JsonValue& payload) noexcept;

// The payload for matches(). One that is not JSON, or too large, is null: no filter matches it.
[[nodiscard]] text::JsonValue read_payload(std::string_view payload);

}  // namespace damper::webhooks
