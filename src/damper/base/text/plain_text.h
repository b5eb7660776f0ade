#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace damper::text {

// Text and numbers for reports: the same bytes in every locale and with every compiler.
//
// Why: names come from users' files. A name must not control the reader's terminal, reverse the
// displayed order of a sentence, or break a line.

// The text on one line: controls, line separators and direction marks as \u escapes, a backslash
// doubled, invalid UTF-8 as U+FFFD, quotes unchanged. Cut with "..." after `most` bytes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 2000);

// The number of characters: the width on a terminal, if none is a wide character.
[[nodiscard]] std::size_t text_width(std::string_view text) noexcept;

// The text with spaces before it, or after it, up to `width`. A wider text is unchanged.
[[nodiscard]] std::string padded_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string padded_right(std::string_view text, std::size_t width);

// The words of the text in lines of at most `width`; a longer word gets its own line. Each word is
// printable().
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// 12345 as 12,345.
[[nodiscard]] std::string with_commas(std::int64_t number);

// A number with three significant digits, integers in full, with commas from 1000 on: 0.0123, 1.2,
// 12.3, 123, 12,345. "-" for NaN, "inf" and "-inf".
[[nodiscard]] std::string for_people(double number);

// A non-negative number in at most four characters, for a scale: 0.5, 9999, 12k, 1.2M, 3G.
[[nodiscard]] std::string compact(double number);

// The shortest text that parses to the same double; `none` for NaN and infinities.
[[nodiscard]] std::string for_programs(double number, std::string_view none);

// A number in full, without an exponent: the fewest digits that parse to the same double.
[[nodiscard]] std::string decimal_text(double number);

// The text for HTML content or a quoted attribute: printable(), and & < > " ' as entities. Line
// feeds are unchanged.
[[nodiscard]] std::string html_text(std::string_view text);

// The text as a field of a CSV file (RFC 4180): quoted if necessary.
[[nodiscard]] std::string csv_field(std::string_view text);

// `x` with `decimals` digits after the point. REQUIRES: 0 <= decimals <= 9.
[[nodiscard]] std::string fixed_text(double x, int decimals);

}  // namespace damper::text
