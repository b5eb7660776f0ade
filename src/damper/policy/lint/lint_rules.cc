#include "damper/policy/lint/lint_rules.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::size_t kMostShown = 10;
const Facts kNothingKnown;

}  // namespace

const Facts& Lens::facts() const { return settings().facts ? *settings().facts : kNothingKnown; }

bool Lens::retries() const {
  return policy().call.max_attempts > 1 && policy().call.retryable != decide::OutcomeSet{};
}

std::string Lens::value(std::string_view path) const {
  return block_schema().write(block_schema().key_at(path), settings());
}

Finding Lens::finding(Rule rule, std::string_view path, std::string why, std::string fix) const {
  return {rule, place_of(route(), block_schema().position(path)), route().name, std::move(why),
          std::move(fix)};
}

std::string decimal(double value, int decimals) {
  std::array<char, 400> digits{};  // The largest double has 309 before the point.
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  std::string text(digits.data(), end);
  if (text.find('.') == std::string::npos) return text;
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string path_text(const Lens& lens, const std::vector<std::size_t>& path) {
  std::string text;
  for (std::size_t i = 0; i < std::min(path.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : " > ") + lens.routes[path[i]].name;
  }
  return path.size() > kMostShown ? text + " > ..." : text;
}

}  // namespace damper::policy
