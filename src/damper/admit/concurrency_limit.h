#ifndef DAMPER_ADMIT_CONCURRENCY_LIMIT_H_
#define DAMPER_ADMIT_CONCURRENCY_LIMIT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::admit {

enum class LimitKind : std::uint8_t { fixed, aimd, vegas, gradient };

inline constexpr std::array<std::string_view, 4> kLimitKindNames = {"fixed", "aimd", "vegas",
                                                                    "gradient"};
[[nodiscard]] constexpr std::string_view name(LimitKind kind) noexcept {
  return kLimitKindNames[static_cast<std::size_t>(kind)];
}

struct ConcurrencyLimitOptions {
  LimitKind kind = LimitKind::gradient;
  std::int32_t initial = 20;  // [min, max]; the limit itself when fixed
  std::int32_t min = 1;       // 1 to 100,000
  std::int32_t max = 1000;    // [min, 100,000]
};

[[nodiscard]] std::optional<std::string> find_error(const ConcurrencyLimitOptions& options);

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_CONCURRENCY_LIMIT_H_
