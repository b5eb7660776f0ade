#ifndef DAMPER_BASE_TEXT_PLAIN_TEXT_H_
#define DAMPER_BASE_TEXT_PLAIN_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace damper::text {

// Words and numbers as reports show them: the same bytes in every locale and from every compiler.
//
// Why: names come from files that somebody else wrote. A name must not drive the terminal of
// whoever reads the report, nor turn a sentence around, nor end a line early.

// The text on one line: controls, line separators and direction marks as \u escapes, a backslash as
// two, what is not UTF-8 as U+FFFD. Quotes stay. Cut off with "..." at `most` bytes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 2000);

// How many characters the text has: its width on a terminal, unless they are wide ones.
[[nodiscard]] std::size_t text_width(std::string_view text) noexcept;

// The text with spaces before it, or after it, up to a width. What is wider stays.
[[nodiscard]] std::string padded_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string padded_right(std::string_view text, std::size_t width);

// The words of the text in lines of at most `width`; a longer word has a line of its own. Each word
// is printable.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// 12345 as 12,345.
[[nodiscard]] std::string with_commas(std::int64_t number);

// A number for people: three significant digits, whole numbers whole, with commas from 1000 on:
// 0.0123, 1.2, 12.3, 123, 12,345. "-" for what is not a number, "inf" and "-inf".
[[nodiscard]] std::string for_people(double number);

// A number that is not negative in at most four characters, for a scale: 0.5, 9999, 12k, 1.2M, 3G.
[[nodiscard]] std::string compact(double number);

// A number for programs: the shortest text that reads back as the same double; `none` for what is
// not finite.
[[nodiscard]] std::string for_programs(double number, std::string_view none);

// The text between the quotes of a JSON string, quotes included.
[[nodiscard]] std::string json_string(std::string_view text);

// The text as HTML shows it, between tags or in a quoted attribute: printable(), and & < > " ' as
// entities. Line feeds stay, as spaces do.
[[nodiscard]] std::string html_text(std::string_view text);

// The text as a field of a CSV file (RFC 4180): in quotes when it has to be.
[[nodiscard]] std::string csv_field(std::string_view text);

// `x` with `decimals` digits after the point, 0 to 9, the same in every locale.
[[nodiscard]] std::string fixed_text(double x, int decimals);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_PLAIN_TEXT_H_
