#include "damper/admit/client_throttle.h"

#include "damper/base/check.h"

namespace damper::admit {

std::optional<std::string> find_error(const ClientThrottleOptions& options) {
  return BoundsCheck()
      .field("multiplier", options.multiplier, options.kMultiplier)
      .field("window", options.window, options.kWindow)
      .error();
}

ClientThrottle::Setting ClientThrottle::setting(const ClientThrottleOptions& options) noexcept {
  DAMPER_CHECK(!find_error(options));
  return {SlotClock(options.window / SlotRing<>::kLiveSlots), options.multiplier.hundredths()};
}

ClientThrottle::ClientThrottle(const ClientThrottleOptions& options) : setting_(setting(options)) {}

// Whole numbers up to the one division, so that the threshold is exact.
double ClientThrottle::probability(const Setting& setting, std::uint32_t slot) const noexcept {
  const auto accepts = static_cast<std::int64_t>(accepts_.sum(slot));
  const auto requests = static_cast<std::int64_t>(requests_.sum(slot));
  const std::int64_t excess =
      requests * Percent::kDenominator - accepts * setting.multiplier_hundredths;
  if (excess <= 0) return 0;
  return static_cast<double>(excess) / static_cast<double>((requests + 1) * Percent::kDenominator);
}

bool ClientThrottle::try_admit(Instant now, double draw) noexcept {
  const Setting setting = setting_.load();
  const std::uint32_t slot = setting.clock.slot(now);
  const bool refused = draw < probability(setting, slot);
  requests_.add(slot);
  return !refused;
}

void ClientThrottle::on_accept(Instant now) noexcept {
  accepts_.add(setting_.load().clock.slot(now));
}

void ClientThrottle::on_cancel(Instant admitted) noexcept {
  requests_.take(setting_.load().clock.slot(admitted));
}

double ClientThrottle::reject_probability(Instant now) const noexcept {
  const Setting setting = setting_.load();
  return probability(setting, setting.clock.slot(now));
}

void ClientThrottle::reload(const ClientThrottleOptions& options, Instant now) noexcept {
  const SlotClock old = setting_.load().clock;
  Setting next = setting(options);
  if (next.clock.width() == old.width()) {
    next.clock = old;
  } else {
    next.clock = old.followed_by(next.clock.width(), now);
    requests_.carry(old, next.clock, now);
    accepts_.carry(old, next.clock, now);
  }
  setting_.store(next);
}

}  // namespace damper::admit
