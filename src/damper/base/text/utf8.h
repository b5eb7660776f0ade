#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace damper::text {

// The replacement for a byte that is not UTF-8: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the UTF-8 character at the start of the text; 0 when there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF). REQUIRES: not empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// The value of `most` for text that is not cut.
inline constexpr std::size_t kUncut = std::numeric_limits<std::size_t>::max() / 2;

// Appends the text as the content of a JSON string, in at most `most` bytes; a longer text is cut
// between two characters and ends in "...".
//
// Why: names and reasons come from configuration and from users. A line feed would forge a second
// log line, an escape character could control the reader's terminal, and a right-to-left override
// changes the displayed order. So quotes, backslashes, C0 and C1 controls, DEL, line separators and
// direction marks are escaped; invalid UTF-8 becomes U+FFFD. All other characters are unchanged.
// REQUIRES: most >= 3.
void append_escaped(std::string& out, std::string_view text, std::size_t most);

// The text as a JSON string, with its quotes: append_escaped() without a limit.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace damper::text
