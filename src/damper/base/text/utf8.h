#ifndef DAMPER_BASE_TEXT_UTF8_H_
#define DAMPER_BASE_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace damper::text {

// What stands for a byte that is not UTF-8: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the UTF-8 character that the text begins with; 0 when it begins with none
// (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF). REQUIRES: not empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// Appends the text as it stands between the quotes of a JSON string, in at most `most` bytes; when
// it is cut, between characters, it ends in "...".
//
// Why: names and reasons come from configuration and from people. A line feed would forge a second
// log line, an escape character could drive the terminal of whoever reads the log, and a
// right-to-left override shows another order than is there. So quotes and backslashes, C0 and C1
// controls, DEL, line separators and direction marks are escaped; what is not UTF-8 is U+FFFD. The
// rest stays readable. REQUIRES: most >= 3.
void append_escaped(std::string& out, std::string_view text, std::size_t most);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_UTF8_H_
