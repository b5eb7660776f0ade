#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "damper/admit/circuit_breaker.h"
#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::balance {

// Which replica gets an attempt: the less loaded of two, or the first of the key's order.
enum class LbPolicy : std::uint8_t { least_request, consistent_hash };
inline constexpr EnumNames<LbPolicy::consistent_hash> kLbPolicyNames = {"least_request",
                                                                        "consistent_hash"};

// How Replicas select one, and how they treat one that fails, is slow or is found unhealthy.
struct ReplicaOptions {
  static constexpr Range<Duration> kLatencyHalfLife{std::chrono::milliseconds(1),
                                                    std::chrono::hours(1)};
  static constexpr Range<double> kLatencyFactor{1.5, 100};
  static constexpr Range<Duration> kLatencyFloor{std::chrono::milliseconds(1),
                                                 std::chrono::minutes(1)};
  static constexpr Range<std::int32_t> kLatencySamples{1, 10'000};
  static constexpr Range<Percent> kMaxEjectionPercent{Percent(0), Percent(100)};
  static constexpr Range<Percent> kPanicThreshold{Percent(0), Percent(100)};
  static constexpr Range<Percent> kHashBalanceFactor{Percent(100), Percent(1000)};
  static constexpr Range<Percent> kZoneOverprovisioning{Percent(100), Percent(1000)};

  // When a replica is ejected, and how it comes back. Eager, beside the dependency's own breaker:
  // there are others to go to.
  admit::CircuitBreakerOptions breaker{.consecutive_failures = 5, .minimum_volume = 10};
  // Half-life of a latency without new samples, so that a slow replica is tried again.
  Duration latency_half_life = std::chrono::seconds(5);
  // A replica is slow when its answers take `latency_factor` times as long as those of the others
  // (their median), and `latency_floor` longer, on a moving average over at least `latency_samples`
  // answers each. Its breaker trips then, so it is out for a time and returns by probes.
  double latency_factor = 5;  // 0: never
  Duration latency_floor = std::chrono::milliseconds(10);
  std::int32_t latency_samples = 20;
  // No replica is ejected for being slow when more than this part of them would be out.
  Percent max_ejection_percent = Percent(50);
  // Verdicts of active checks are ignored while less than this part of the replicas is healthy, and
  // while none is.
  Percent panic_threshold = Percent(50);
  LbPolicy lb_policy = LbPolicy::least_request;
  // Of its fair share of the attempts in flight: how many a replica has at most by their keys.
  Percent hash_balance_factor = Percent(150);
  // See zone_share().
  Percent zone_overprovisioning = Percent(140);

  friend bool operator==(const ReplicaOptions&, const ReplicaOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const ReplicaOptions& options);

// Whether verdicts of active checks are ignored: see ReplicaOptions::panic_threshold.
[[nodiscard]] constexpr bool ignores_checks(std::size_t healthy, std::size_t all,
                                            Percent threshold) noexcept {
  return healthy == 0 ||
         !threshold.reached_by(static_cast<std::int64_t>(healthy), static_cast<std::int64_t>(all));
}

}  // namespace damper::balance
