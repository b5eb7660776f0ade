#include "damper/schedule/listed_delays.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::schedule {

std::optional<ListedDelays> ListedDelays::from(std::span<const Duration> steps,
                                               Percent spread) noexcept {
  if (steps.size() > kMost || !kSpread.contains(spread)) return std::nullopt;
  ListedDelays delays;
  for (const Duration step : steps) {
    if (!kStep.contains(step)) return std::nullopt;
    delays.steps_[delays.count_++] = step;
  }
  delays.spread_ = spread;
  return delays;
}

const ListedDelays& ListedDelays::standard_webhooks() noexcept {
  static const ListedDelays kDelays = [] {
    using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
    constexpr std::array<Duration, 9> kSteps = {seconds(5), minutes(5), minutes(30),
                                                hours(2),   hours(5),   hours(10),
                                                hours(14),  hours(20),  hours(24)};
    const auto delays = from(kSteps, Percent(50));
    DAMPER_CHECK(delays.has_value());
    return *delays;
  }();
  return kDelays;
}

std::optional<Duration> ListedDelays::delay(std::uint32_t retry, double draw) const noexcept {
  if (retry >= count_) return std::nullopt;
  const auto step = static_cast<double>(steps_[retry].count());
  const double factor = 1 + spread_.ratio() * (2 * draw - 1);
  return Duration{std::max<std::int64_t>(1, static_cast<std::int64_t>(step * factor))};
}

}  // namespace damper::schedule
