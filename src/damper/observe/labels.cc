#include "damper/observe/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "damper/base/check.h"
#include "damper/base/text/utf8.h"

namespace damper::observe {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string cleaned(std::string_view text) {
  std::string out;
  std::size_t used = 0;  // of kLongestLabelValue
  while (!text.empty()) {
    const std::size_t length = text::utf8_length(text);
    const std::string_view character = length == 0 ? text::kReplacement : text.substr(0, length);
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
  const double size = std::abs(value);
  const bool plain = size == 0 || (1e-4 <= size && size < 1e15);  // le="0.0005", not "5e-04".
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  plain ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  return {buffer.data(), end};
}

}  // namespace damper::observe
