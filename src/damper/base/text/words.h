#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace damper::text {

// Words and numbers in a file or on a command line, and parts of error sentences about them.

// The text as a number; nothing if it is none, or if anything stands before or after it. `format`
// is that of std::from_chars.
template <class Number, class... Format>
[[nodiscard]] std::optional<Number> find_number(std::string_view text, Format... format) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, format...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// Without the spaces at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// The parts between commas, trimmed.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text);

// The text in double quotes: printable ASCII, everything else escaped, cut with "..." after 60
// characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

// Another program's message: printable ASCII, everything else escaped, cut with "..." after 200
// characters.
[[nodiscard]] std::string on_one_line(std::string_view text);

// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string_view> words);

// The number of insertions, deletions, replacements and swaps of neighbouring characters that turn
// `a` into `b` (Damerau-Levenshtein, restricted). Only the first 64 bytes of each are compared.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The known word with the smallest edit distance, the first of several; empty when the distance is
// more than half of the typed text's length.
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> known);

// "; did you mean X?" or nothing.
[[nodiscard]] std::string suggestion(std::string_view typed,
                                     std::span<const std::string_view> known);

}  // namespace damper::text
