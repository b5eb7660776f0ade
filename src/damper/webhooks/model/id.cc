#include "damper/webhooks/model/id.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace damper::webhooks {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t kTextSize = 13;
constexpr int kSerialBits = 20;

[[nodiscard]] std::int64_t upper_bits(UnixTime time) noexcept {
  constexpr std::int64_t kMostMilliseconds = (std::int64_t{1} << (63 - kSerialBits)) - 1;
  return std::clamp<std::int64_t>(time.time_since_epoch().count(), 0, kMostMilliseconds)
         << kSerialBits;
}

}  // namespace

std::string id_text(std::string_view prefix, Id id) {
  std::array<char, kTextSize> digits{};
  auto rest = static_cast<std::uint64_t>(number(id));
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    *digit = kDigits[rest % 32];
    rest /= 32;
  }
  std::string text(prefix);
  text.append(digits.data(), digits.size());
  return text;
}

std::optional<Id> parse_id(std::string_view prefix, std::string_view text) noexcept {
  if (!text.starts_with(prefix) || text.size() != prefix.size() + kTextSize) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text.substr(prefix.size())) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || value >> 58 != 0) return std::nullopt;  // over 63 bits
    value = value * 32 + digit;
  }
  return Id{static_cast<std::int64_t>(value)};
}

Id first_id(UnixTime time) noexcept { return Id{upper_bits(time)}; }

Id IdMaker::next(UnixTime now) noexcept {
  const std::int64_t serial = random_ & ((1U << kSerialBits) - 1);
  random_ = random_ * 1664525U + 1013904223U;
  last_ = std::max(last_ + 1, upper_bits(now) | serial);
  return Id{last_};
}

}  // namespace damper::webhooks
