#include "damper/balance/replica_options.h"

namespace damper::balance {

std::optional<std::string> find_error(const ReplicaOptions& options) {
  BoundsCheck check;
  check.field("latency_half_life", options.latency_half_life, options.kLatencyHalfLife);
  if (options.latency_factor != 0) {
    check.field("latency_factor", options.latency_factor, options.kLatencyFactor);
  }
  return check.field("latency_floor", options.latency_floor, options.kLatencyFloor)
      .field("latency_samples", options.latency_samples, options.kLatencySamples)
      .field("max_ejection_percent", options.max_ejection_percent, options.kMaxEjectionPercent)
      .field("panic_threshold", options.panic_threshold, options.kPanicThreshold)
      .field("hash_balance_factor", options.hash_balance_factor, options.kHashBalanceFactor)
      .field("zone_overprovisioning", options.zone_overprovisioning, options.kZoneOverprovisioning)
      .part("breaker", admit::find_error(options.breaker))
      .error();
}

}  // namespace damper::balance
