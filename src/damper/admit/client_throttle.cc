#include "damper/admit/client_throttle.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::admit {
namespace {

constexpr std::int64_t kWhole = Percent::kDenominator;
constexpr std::int64_t kFaster = 4;  // the factor of K while the dependency recovers

// The formula. Whole numbers up to the one division, so that the threshold is exact.
double rejected(std::int64_t requests, std::int64_t accepts, std::int64_t multiplier) noexcept {
  const std::int64_t excess = requests * kWhole - accepts * multiplier;
  if (excess <= 0) return 0;
  return static_cast<double>(excess) / static_cast<double>((requests + 1) * kWhole);
}

// A clock of the new width for the rings, whose counts are carried over.
template <class... Rings>
SlotClock carried(SlotClock old, SlotClock next, Instant now, Rings&... rings) noexcept {
  if (next.width() == old.width()) return old;
  next = old.followed_by(next.width(), now);
  (rings.carry(old, next, now), ...);
  return next;
}

}  // namespace

std::optional<std::string> find_error(const ClientThrottleOptions& options) {
  return BoundsCheck()
      .field("multiplier", options.multiplier, options.kMultiplier)
      .field("window", options.window, options.kWindow)
      .field("minimum_volume", options.minimum_volume, options.kMinimumVolume)
      .field("max_rejected", options.max_rejected, options.kMaxRejected)
      .error();
}

ClientThrottle::Setting ClientThrottle::setting(const ClientThrottleOptions& options) noexcept {
  DAMPER_CHECK_VALID(find_error(options));
  return {SlotClock(options.window / SlotRing<>::kLiveSlots),
          SlotClock(std::min(options.window, kRecent) / SlotRing<>::kLiveSlots),
          options.multiplier.hundredths(), options.max_rejected.hundredths(),
          options.minimum_volume};
}

ClientThrottle::ClientThrottle(const ClientThrottleOptions& options) : setting_(setting(options)) {}

double ClientThrottle::probability(const Setting& setting, Instant now) const noexcept {
  const std::uint32_t slot = setting.clock.slot(now);
  const auto unaccepted = static_cast<std::int64_t>(unaccepted_.sum(slot));
  if (unaccepted == 0) [[likely]]
    return 0;
  const auto accepts = static_cast<std::int64_t>(accepts_.sum(slot));
  const std::int64_t requests = accepts + unaccepted;
  const double by_window = rejected(requests, accepts, setting.multiplier);
  if (by_window == 0 || requests < setting.minimum_volume) return 0;
  const double bound = static_cast<double>(setting.max_rejected) / static_cast<double>(kWhole);
  return std::min({by_window, recent_probability(setting, now), bound});
}

double ClientThrottle::recent_probability(const Setting& setting, Instant now) const noexcept {
  const std::uint32_t slot = setting.recent.slot(now);
  const auto accepts = static_cast<std::int64_t>(recent_accepts_.sum(slot));
  const auto sent = accepts + static_cast<std::int64_t>(recent_rejects_.sum(slot));
  const auto requests = sent + static_cast<std::int64_t>(recent_refused_.sum(slot));
  // More than half way from 1 / K to 1: accepts / sent > (1 + 1 / K) / 2.
  const bool recovers = 2 * accepts * setting.multiplier > sent * (setting.multiplier + kWhole);
  return rejected(requests, accepts, recovers ? kFaster * setting.multiplier : setting.multiplier);
}

bool ClientThrottle::try_admit(Instant now, double draw) noexcept {
  const Setting setting = setting_.load();
  if (draw >= probability(setting, now)) return true;
  unaccepted_.add(setting.clock.slot(now));
  recent_refused_.add(setting.recent.slot(now));
  return false;
}

void ClientThrottle::on_accept(Instant now) noexcept {
  const Setting setting = setting_.load();
  accepts_.add(setting.clock.slot(now));
  recent_accepts_.add(setting.recent.slot(now));
}

void ClientThrottle::on_reject(Instant now) noexcept {
  const Setting setting = setting_.load();
  unaccepted_.add(setting.clock.slot(now));
  recent_rejects_.add(setting.recent.slot(now));
}

double ClientThrottle::reject_probability(Instant now) const noexcept {
  return probability(setting_.load(), now);
}

void ClientThrottle::reload(const ClientThrottleOptions& options, Instant now) noexcept {
  const Setting old = setting_.load();
  Setting next = setting(options);
  next.clock = carried(old.clock, next.clock, now, accepts_, unaccepted_);
  next.recent =
      carried(old.recent, next.recent, now, recent_accepts_, recent_rejects_, recent_refused_);
  setting_.store(next);
}

}  // namespace damper::admit
