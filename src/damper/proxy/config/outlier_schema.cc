#include "damper/proxy/config/outlier_schema.h"

#include "damper/proxy/config/policy_like.h"

namespace damper::proxy {
namespace {

using config::Schema;
namespace form = config::form;

}  // namespace

void add_outliers(Schema<ClusterConfig>& s) {
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_OUTLIER(member) DAMPER_FIELD(replicas.breaker.member)
  like<DAMPER_OUTLIER(consecutive_failures)>(
      s, "outlier_detection.consecutive_5xx", "circuit_breaker.consecutive_failures",
      "A replica is ejected after this number of consecutive failures.");
  like<DAMPER_OUTLIER(failure_rate)>(
      s, "outlier_detection.failure_percentage_threshold", "circuit_breaker.failure_rate",
      "A replica is ejected at this percentage of failed attempts in the interval.");
  like<DAMPER_OUTLIER(minimum_volume)>(
      s, "outlier_detection.failure_percentage_request_volume", "circuit_breaker.minimum_volume",
      "Attempts in the interval before percentages are evaluated.");
  like<DAMPER_OUTLIER(window)>(s, "outlier_detection.interval", "circuit_breaker.window");
  like<DAMPER_OUTLIER(slow_call_duration)>(
      s, "outlier_detection.slow_call_duration", "circuit_breaker.slow_call_duration",
      "An attempt that takes longer counts as slow. off: no attempt is slow.");
  like<DAMPER_OUTLIER(slow_call_rate)>(
      s, "outlier_detection.slow_call_rate", "circuit_breaker.slow_call_rate",
      "A replica is ejected at this percentage of attempts over slow_call_duration.");
  like<DAMPER_OUTLIER(open_base)>(
      s, "outlier_detection.base_ejection_time", "circuit_breaker.open_base",
      "First ejection; doubled with each consecutive ejection, with jitter.");
  like<DAMPER_OUTLIER(open_cap)>(s, "outlier_detection.max_ejection_time",
                                 "circuit_breaker.open_cap", "Longest ejection.");
  like<DAMPER_OUTLIER(probes)>(
      s, "outlier_detection.probes", "circuit_breaker.probes",
      "Concurrent attempts after an ejection, and successes needed to end it.");
  like<DAMPER_OUTLIER(probe_lease)>(
      s, "outlier_detection.probe_lease", "circuit_breaker.probe_lease",
      "A probe without a result after this time counts as failed and releases its slot. auto: "
      "30s.");
  like<DAMPER_OUTLIER(ramp)>(
      s, "outlier_detection.ramp", "circuit_breaker.ramp",
      "Traffic grows to its full share over this period after an ejection. off: at once.");
#undef DAMPER_OUTLIER
  s.key<DAMPER_FIELD(replicas.latency_factor)>(
      "outlier_detection.latency_factor",
      form::rate(balance::ReplicaOptions::kLatencyFactor).with_off(0),
      "A replica is ejected as slow if its latency exceeds this multiple of the median of the "
      "others. off: latency ejects no replica.");
  s.key<DAMPER_FIELD(replicas.latency_floor)>(
      "outlier_detection.latency_floor", form::duration(balance::ReplicaOptions::kLatencyFloor),
      "Minimum absolute difference: a replica is only ejected as slow if it is also at least this "
      "much slower than the median of the others.");
  s.key<DAMPER_FIELD(replicas.latency_samples)>(
      "outlier_detection.latency_samples", form::integer(balance::ReplicaOptions::kLatencySamples),
      "Responses of each replica before latencies are compared.");
  s.key<DAMPER_FIELD(replicas.max_ejection_percent)>(
      "outlier_detection.max_ejection_percent",
      form::percent(balance::ReplicaOptions::kMaxEjectionPercent),
      "Upper bound on the share of replicas ejected at the same time because of latency.");
  s.key<DAMPER_FIELD(replicas.latency_half_life)>(
      "outlier_detection.latency_half_life",
      form::duration(balance::ReplicaOptions::kLatencyHalfLife),
      "Half-life of a latency without new samples: a slow replica is eventually tried again.");
}

}  // namespace damper::proxy
