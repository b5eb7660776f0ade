#include "damper/base/text/words.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace damper::text {
namespace {

constexpr std::size_t kMostEchoed = 60;
constexpr std::size_t kMostQuoted = 200;
constexpr std::size_t kMostCompared = 64;

std::string escaped(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
}

// The text with everything but printable ASCII escaped, and a backslash before `special`.
std::string to_ascii(std::string_view text, std::string_view special, std::size_t most) {
  std::string out;
  for (const char c : text) {
    std::string shown = c >= ' ' && c <= '~' ? std::string(1, c) : escaped(c);
    if (special.find(c) != std::string_view::npos) shown.insert(0, 1, '\\');
    if (out.size() + shown.size() > most) return out + "...";
    out += shown;
  }
  return out;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? 0 : comma + 1);
  }
  return parts;
}

std::string in_quotes(std::string_view text) {
  return '"' + to_ascii(text, "\"\\", kMostEchoed) + '"';
}

std::string on_one_line(std::string_view text) { return to_ascii(text, "", kMostQuoted); }

std::string joined(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

int edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMostCompared);
  b = b.substr(0, kMostCompared);
  std::array<std::array<int, kMostCompared + 1>, 3> rows{};  // The last two rows and the new one.
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> known) {
  std::string_view best;
  int least = static_cast<int>(std::min(typed.size(), kMostCompared)) / 2 + 1;
  for (const std::string_view word : known) {
    const int distance = edit_distance(typed, word);
    if (distance < least) {
      least = distance;
      best = word;
    }
  }
  return best;
}

std::string suggestion(std::string_view typed, std::span<const std::string_view> known) {
  const std::string_view word = nearest(typed, known);
  return word.empty() ? std::string() : "; did you mean " + std::string(word) + '?';
}

}  // namespace damper::text
