#include "damper/decide/layering.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace damper::decide {
namespace {

constexpr std::size_t kLongestOwner = 64;

constexpr bool is_owner_char(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// The number that the whole text is, held at kMostAttempt; `otherwise` when it is none.
std::uint32_t number_or(std::string_view digits, std::uint32_t otherwise) noexcept {
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end) return otherwise;
  if (error == std::errc::result_out_of_range) return Layer::kMostAttempt;
  return std::min(number, Layer::kMostAttempt);
}

}  // namespace

bool valid_owner(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kLongestOwner &&
         std::all_of(name.begin(), name.end(), is_owner_char);
}

Layer read_layer(const LayerHeaders& headers) noexcept {
  const std::uint32_t attempt =
      std::max({number_or(headers.attempt, 1), number_or(headers.envoy_attempt_count, 1),
                number_or(headers.grpc_previous_attempts, 0) + 1});
  return {.owned_above = valid_owner(headers.retry_owner) || attempt > 1,
          .attempt = std::min(attempt, Layer::kMostAttempt)};
}

std::string format_attempt(const Layer& layer, std::uint32_t own_attempt) {
  const std::uint32_t attempt = layer.owned_above ? layer.attempt : own_attempt;
  return std::to_string(std::clamp(attempt, 1U, Layer::kMostAttempt));
}

}  // namespace damper::decide
