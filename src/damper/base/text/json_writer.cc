#include "damper/base/text/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>

#include "damper/base/text/json_text.h"

namespace damper::text {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

}  // namespace

void JsonWriter::write(std::string_view key, std::string_view value) {
  if (!first_) out_ << ',';
  if (!key.empty()) out_ << json_text(key, kNoLimit) << ':';
  out_ << value;
  first_ = false;
}

void JsonWriter::field(std::string_view key, std::string_view text) {
  write(key, json_text(text, kNoLimit));
}

void JsonWriter::field(std::string_view key, double number) {
  if (!std::isfinite(number)) return field(key, nullptr);
  std::array<char, 32> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  write(key, {digits.data(), end});
}

void JsonWriter::open(char bracket, std::string_view key) {
  write(key, {&bracket, 1});
  first_ = true;
}

void JsonWriter::close(char bracket) {
  out_ << bracket;
  first_ = false;
}

}  // namespace damper::text
