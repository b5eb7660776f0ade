#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "damper/base/instant.h"
#include "damper/proxy/health/replica_health.h"

namespace damper::proxy {

// What a check knows of a replica, and why.
struct ReplicaVerdict {
  HealthState state = HealthState::unknown;
  std::string reason{};  // of the last probe that failed
  Instant since{};       // of the state
};

// A ClusterHealth has the verdicts of a cluster's active checks, for all loops.
//
// Why: one checker probes for all loops. A loop reads here what holds for a replica when it is
// added, and when it is posted a change.
// Model: by the replica's name, as loops call it. A replica without an entry is not checked.
// Thread safety: all methods may be called concurrently.
class ClusterHealth {
 public:
  using Verdicts = std::map<std::string, ReplicaVerdict>;

  void set(const std::string& replica, ReplicaVerdict verdict) {
    const std::lock_guard lock(mutex_);
    verdicts_[replica] = std::move(verdict);
  }
  void erase(const std::string& replica) {
    const std::lock_guard lock(mutex_);
    verdicts_.erase(replica);
  }
  // Of `unknown` if it is not checked.
  [[nodiscard]] ReplicaVerdict find(const std::string& replica) const {
    const std::lock_guard lock(mutex_);
    const auto found = verdicts_.find(replica);
    return found == verdicts_.end() ? ReplicaVerdict{} : found->second;
  }
  [[nodiscard]] Verdicts all() const {
    const std::lock_guard lock(mutex_);
    return verdicts_;
  }

  void count(ProbeOutcome outcome) noexcept {
    probes_[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t probes(ProbeOutcome outcome) const noexcept {
    return probes_[static_cast<std::size_t>(outcome)].load(std::memory_order_relaxed);
  }
  // Whether the verdicts are ignored: see ReplicaOptions::panic_threshold.
  void set_ignored(bool ignored) noexcept { ignored_.store(ignored, std::memory_order_relaxed); }
  [[nodiscard]] bool is_ignored() const noexcept {
    return ignored_.load(std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_;
  Verdicts verdicts_;
  std::array<std::atomic<std::uint64_t>, kProbeOutcomeNames.size()> probes_{};
  std::atomic<bool> ignored_ = false;
};

}  // namespace damper::proxy
