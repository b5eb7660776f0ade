#include "damper/observe/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "damper/base/check.h"

namespace damper::observe {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of the UTF-8 character that the text begins with; 0 when it begins with none
// (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF). REQUIRES: not empty.
std::size_t utf8_length(std::string_view text) {
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

std::string cleaned(std::string_view text) {
  std::string out;
  std::size_t used = 0;  // of kLongestLabelValue
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    used += character.size();
    if (used > kLongestLabelValue) break;
    if (character == "\n") {
      out += "\\n";
    } else {
      if (character == "\\" || character == "\"") out += '\\';
      out += character;
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

bool is_metric_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == ':';
  });
}

bool is_label_name(std::string_view name) {
  return is_metric_name(name) && name.find(':') == std::string_view::npos &&
         !name.starts_with("__") && name != "le";
}

std::string render(const Labels& labels) {
  DAMPER_CHECK(labels.size() <= kMostLabels);
  Labels sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  std::string out;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    DAMPER_CHECK(is_label_name(sorted[i].first));
    DAMPER_CHECK(i == 0 || sorted[i - 1].first != sorted[i].first);
    if (i > 0) out += ',';
    out += sorted[i].first + "=\"" + cleaned(sorted[i].second) + '"';
  }
  return out;
}

std::string render_help(std::string_view help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') out += "\\\\";
    if (c == '\n') out += "\\n";
    if (c != '\\' && c != '\n') out += c;
  }
  return out;
}

std::string render(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer{};
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

}  // namespace damper::observe
