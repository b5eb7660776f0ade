#ifndef DAMPER_BASE_TEXT_WORDS_H_
#define DAMPER_BASE_TEXT_WORDS_H_

#include <span>
#include <string>
#include <string_view>

namespace damper::text {

// What error sentences about words are made of.

// The text in double quotes as a sentence can repeat it: printable ASCII and valid on one line,
// everything else escaped, cut off with "..." after 60 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

// Somebody else's sentence: printable and on one line, cut off with "..." after 200 characters.
[[nodiscard]] std::string on_one_line(std::string_view text);

// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string_view> words);

// How many single-character insertions, deletions and replacements, and swaps of neighbours, lead
// from one to the other. Only the first 64 bytes of each count.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The known word that was probably meant: the nearest one, unless the edits would change more than
// half of what was typed; empty when none is near. A tie goes to the first.
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> known);

// "; did you mean X?" or nothing.
[[nodiscard]] std::string suggestion(std::string_view typed,
                                     std::span<const std::string_view> known);

}  // namespace damper::text

#endif  // DAMPER_BASE_TEXT_WORDS_H_
