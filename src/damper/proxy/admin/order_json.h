#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/text/json_reader.h"

namespace damper::proxy {

inline constexpr std::size_t kMostOrderBytes = std::size_t{64} * 1024;

// The common parts of the orders that the admin API accepts (switch_order.h, breaker_order.h). Each
// function returns one sentence on the first error.

// The text as a JSON object with no other keys: "resaon" must not be an order without a reason.
[[nodiscard]] Expected<text::JsonValue> read_order(std::string_view text,
                                                   std::span<const std::string_view> keys);
// The text of a key; nothing: the key is missing.
[[nodiscard]] Expected<std::optional<std::string>> find_text(const text::JsonValue& order,
                                                             std::string_view key);
// The reason, of at most admit::Reason::kLongest bytes. If it is needed it is not blank; `why` ends
// the sentence: "the next person on duty has to know why ...".
[[nodiscard]] Expected<std::string> read_reason(const text::JsonValue& order, bool needed,
                                                std::string_view why);
// The length `for`, more than 0; nothing: the key is missing.
[[nodiscard]] Expected<std::optional<Duration>> read_length(const text::JsonValue& order);

}  // namespace damper::proxy
