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
  const auto accepts = static_cast<std::int64_t>(accepts_.sum(slot));
  const auto requests = static_cast<std::int64_t>(requests_.sum(slot));
  const double by_window = rejected(requests, accepts, setting.multiplier);
  if (by_window == 0 || requests < setting.minimum_volume) return 0;
  const double bound = static_cast<double>(setting.max_rejected) / static_cast<double>(kWhole);
  return std::min({by_window, recent_probability(setting, now), bound});
}

double ClientThrottle::recent_probability(const Setting& setting, Instant now) const noexcept {
  const std::uint32_t slot = setting.recent.slot(now);
  const auto accepts = static_cast<std::int64_t>(recent_accepts_.sum(slot));
  const auto requests = static_cast<std::int64_t>(recent_requests_.sum(slot));
  const auto sent = static_cast<std::int64_t>(recent_sent_.sum(slot));
  // More than half way from 1 / K to 1: accepts / sent > (1 + 1 / K) / 2.
  const bool recovers = 2 * accepts * setting.multiplier > sent * (setting.multiplier + kWhole);
  return rejected(requests, accepts, recovers ? kFaster * setting.multiplier : setting.multiplier);
}

bool ClientThrottle::try_admit(Instant now, double draw) noexcept {
  const Setting setting = setting_.load();
  const bool refused = draw < probability(setting, now);
  const std::uint32_t recent = setting.recent.slot(now);
  requests_.add(setting.clock.slot(now));
  recent_requests_.add(recent);
  if (!refused) recent_sent_.add(recent);
  return !refused;
}

void ClientThrottle::on_sent(Instant now) noexcept {
  const Setting setting = setting_.load();
  const std::uint32_t recent = setting.recent.slot(now);
  requests_.add(setting.clock.slot(now));
  recent_requests_.add(recent);
  recent_sent_.add(recent);
}

void ClientThrottle::on_accept(Instant now) noexcept {
  const Setting setting = setting_.load();
  accepts_.add(setting.clock.slot(now));
  recent_accepts_.add(setting.recent.slot(now));
}

void ClientThrottle::on_cancel(Instant admitted) noexcept {
  const Setting setting = setting_.load();
  const std::uint32_t recent = setting.recent.slot(admitted);
  requests_.take(setting.clock.slot(admitted));
  recent_requests_.take(recent);
  recent_sent_.take(recent);
}

double ClientThrottle::reject_probability(Instant now) const noexcept {
  return probability(setting_.load(), now);
}

void ClientThrottle::reload(const ClientThrottleOptions& options, Instant now) noexcept {
  const Setting old = setting_.load();
  Setting next = setting(options);
  next.clock = carried(old.clock, next.clock, now, requests_, accepts_);
  next.recent =
      carried(old.recent, next.recent, now, recent_requests_, recent_sent_, recent_accepts_);
  setting_.store(next);
}

}  // namespace damper::admit
