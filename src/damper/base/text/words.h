#pragma once

#include <span>
#include <string>
#include <string_view>

namespace damper::text {

// Parts of error sentences about words in a file or on a command line.

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
