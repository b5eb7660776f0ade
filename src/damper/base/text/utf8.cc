#include "damper/base/text/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "damper/base/check.h"

namespace damper::text {
namespace {

constexpr std::string_view kCut = "...";

// The code point of a character of at most three bytes; none of four bytes needs an escape.
unsigned code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
    case 3: return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    default: return 0x10000;
  }
}

bool is_unsafe(unsigned code) {
  return code < 0x20 || (0x7F <= code && code <= 0x9F) ||  // controls
         code == 0x61C || code == 0x200E || code == 0x200F ||
         (0x2028 <= code && code <= 0x202E) ||  // line separators, direction marks
         (0x2066 <= code && code <= 0x2069) || code == 0xFEFF;
}

struct Escape {
  std::array<char, 6> text{};
  std::size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {text.data(), size}; }
};

Escape escape_of(unsigned code) {
  switch (code) {
    case '"': return {{'\\', '"'}, 2};
    case '\\': return {{'\\', '\\'}, 2};
    case '\n': return {{'\\', 'n'}, 2};
    case '\r': return {{'\\', 'r'}, 2};
    case '\t': return {{'\\', 't'}, 2};
    default: break;
  }
  if (!is_unsafe(code)) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {{'\\', 'u', kDigits[code >> 12 & 15], kDigits[code >> 8 & 15], kDigits[code >> 4 & 15],
           kDigits[code & 15]},
          6};
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

void append_escaped(std::string& out, std::string_view text, std::size_t most) {
  DAMPER_CHECK(most >= kCut.size());
  const std::size_t start = out.size();
  std::size_t cut = start;  // The last position at which "..." fits.
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = length == 0 ? kReplacement : text.substr(0, length);
    const Escape escape = escape_of(code_point(character));
    const std::string_view shown = escape.size > 0 ? escape.view() : character;
    if (out.size() - start + shown.size() > most) {
      out.resize(cut);
      out += kCut;
      return;
    }
    out += shown;
    if (out.size() - start + kCut.size() <= most) cut = out.size();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  append_escaped(out, text, kUncut);
  return out += '"';
}

}  // namespace damper::text
