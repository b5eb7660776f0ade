#pragma once

#include <algorithm>
#include <cstdint>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/proxy/config/health_check_options.h"

namespace damper::proxy {

// What is known of a replica. `unknown`: it was not probed yet, and is used.
enum class HealthState : std::uint8_t { unknown, healthy, unhealthy };
inline constexpr EnumNames<HealthState::unhealthy> kHealthStateNames = {"unknown", "healthy",
                                                                        "unhealthy"};

// How a probe ended. `no_verdict`: it failed for a reason of this process (no file descriptor, a
// stalled loop), which says nothing of the replica.
enum class ProbeOutcome : std::uint8_t { passed, failed, no_verdict };
inline constexpr EnumNames<ProbeOutcome::no_verdict> kProbeOutcomeNames = {"passed", "failed",
                                                                           "no_verdict"};

// A ReplicaHealth decides from the outcomes of probes whether a replica is healthy, and when it is
// probed next.
//
// Why: a threshold on both sides keeps one lost packet from taking a replica out, and one lucky
// answer from putting it back. A replica that is down for hours needs few probes.
// Model: a new replica is `unknown`: the first passed probe makes it healthy, and
// unhealthy_threshold failed ones in a row make it unhealthy. A healthy one becomes unhealthy by
// the same; an unhealthy one becomes healthy by healthy_threshold passed ones in a row. The next
// probe is due `interval` and a part of interval_jitter after the end of the last one; the first
// one after a part of both, so that the replicas of a file are not probed together. While it is
// unhealthy the interval doubles with each failed probe up to unhealthy_interval, of which the
// upper half is drawn; a passed probe sets it back to `interval`.
// Invariants:
//   (1) State changes only by on_probe(), and never by no_verdict.
//   (2) due() is never earlier than half of `interval` after the last probe, nor later than the
//       longer of `interval` and unhealthy_interval, and interval_jitter, after it.
//   (3) A reload keeps the state and the counts.
// Thread safety: none. Now and draw, in [0, 1), are arguments.
class ReplicaHealth {
 public:
  // REQUIRES: !find_error(options).
  ReplicaHealth(const HealthCheckOptions& options, Instant now, double draw)
      : options_(options), due_(add(now, part(options.interval + options.interval_jitter, draw))) {}

  [[nodiscard]] HealthState state() const noexcept { return state_; }
  [[nodiscard]] Instant due() const noexcept { return due_; }  // of the next probe

  // A probe ended. True: the state has changed.
  bool on_probe(ProbeOutcome outcome, Instant now, double draw) noexcept {
    const HealthState before = state_;
    if (outcome == ProbeOutcome::passed) {
      failed_ = 0;
      passed_ = std::min(passed_ + 1, HealthCheckOptions::kThreshold.high);
      backoff_ = 0;
      if (state_ == HealthState::unknown || passed_ >= options_.healthy_threshold) {
        state_ = HealthState::healthy;
      }
    } else if (outcome == ProbeOutcome::failed) {
      passed_ = 0;
      failed_ = std::min(failed_ + 1, HealthCheckOptions::kThreshold.high);
      if (state_ == HealthState::unhealthy) backoff_ = std::min(backoff_ + 1, kMostDoublings);
      if (failed_ >= options_.unhealthy_threshold) state_ = HealthState::unhealthy;
    }
    due_ = add(now, next_interval(draw));
    return state_ != before;
  }
  // The next probe is at most one interval away. REQUIRES: !find_error(options).
  void reload(const HealthCheckOptions& options, Instant now, double draw) {
    options_ = options;
    due_ = std::min(due_, add(now, part(options.interval + options.interval_jitter, draw)));
  }

 private:
  static constexpr std::int32_t kMostDoublings = 20;

  [[nodiscard]] static Duration part(Duration whole, double draw) noexcept {
    return Duration{static_cast<std::int64_t>(static_cast<double>(whole.count()) * draw)};
  }
  [[nodiscard]] Duration next_interval(double draw) const noexcept {
    if (backoff_ == 0) return options_.interval + part(options_.interval_jitter, draw);
    const Duration longest = std::min(times(options_.interval, std::int64_t{1} << backoff_),
                                      std::max(options_.interval, options_.unhealthy_interval));
    return longest / 2 + part(longest / 2 + options_.interval_jitter, draw);
  }

  HealthCheckOptions options_;
  HealthState state_ = HealthState::unknown;
  std::int32_t passed_ = 0;   // in a row
  std::int32_t failed_ = 0;   // in a row
  std::int32_t backoff_ = 0;  // doublings of the interval
  Instant due_;
};

}  // namespace damper::proxy
