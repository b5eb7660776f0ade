#pragma once

#include <map>
#include <mutex>
#include <string>

#include "damper/admit/circuit_breaker.h"
#include "damper/base/instant.h"

namespace damper::proxy {

// What an operator holds: a state, until when, and why.
struct HeldBreaker {
  admit::BreakerForce force = admit::BreakerForce::none;
  Instant until = Instant::min();
  std::string reason{};

  [[nodiscard]] static HeldBreaker of(const admit::BreakerForceSetting& setting, Instant now) {
    return {setting.force, add(now, setting.bounded()), std::string(setting.reason)};
  }
  // For what is left of it; a reset if nothing is. It refers to this object.
  [[nodiscard]] admit::BreakerForceSetting setting(Instant now) const noexcept {
    if (now >= until) return {};
    return {.force = force, .length = between(now, until), .reason = reason};
  }
};

// ForcedReplicas are the replicas of a cluster whose breakers an operator holds.
//
// Why: each loop has breakers of its own, and a replica may leave the DNS and return. A loop reads
// here what holds for a replica when it is added, and when it is posted a change.
// Thread safety: all methods may be called concurrently.
class ForcedReplicas {
 public:
  // Replaces what was held; a reset removes it. What has expired is forgotten.
  void set(const std::string& replica, const admit::BreakerForceSetting& setting, Instant now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [now](const auto& one) { return one.second.until <= now; });
    if (setting.force == admit::BreakerForce::none) {
      held_.erase(replica);
    } else {
      held_[replica] = HeldBreaker::of(setting, now);
    }
  }
  // A HeldBreaker of `none` if it is not held.
  [[nodiscard]] HeldBreaker find(const std::string& replica) const {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(replica);
    return found == held_.end() ? HeldBreaker{} : found->second;
  }
  [[nodiscard]] std::map<std::string, HeldBreaker> all() const {
    const std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, HeldBreaker> held_;
};

}  // namespace damper::proxy
