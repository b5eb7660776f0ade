#pragma once

#include <cstdint>
#include <string_view>

#include "damper/base/enum_names.h"

namespace damper::observe {

// The events that a process emits beside the engine's (engine/event.h), to the same sinks.
enum class ProcessEvent : std::uint8_t {
  policy_refused,        // A new policy or switch was refused and changed nothing; `detail`: why.
  listener_failed,       // A loop could not use a listener's socket after a reload; `detail`: why.
  control_lost,          // The control plane does not answer; `detail`: why.
  control_restored,      // The control plane answers again, after `length`.
  draining,              // The process exits within `length`; `detail`: a drain_delay before that.
  upgraded,              // A new process, of pid `count`, serves.
  upgrade_failed,        // The new process failed, and this one continues; `detail`: why.
  out_of_descriptors,    // Connections found no file descriptor.
  descriptors_restored,  // They find some again, after `length`.
  certificate_reloaded,  // Changed certificate files are in use; `detail`: of which listener.
  certificate_refused,   // Changed certificate files are not used; `detail`: why.
  certificate_expires,   // A certificate in use expires soon, or has expired; `detail`: which.
  client_over_limit,     // `count` connections were closed: `detail` names the last client.
  kept_bytes_exhausted,  // `count` times there was no memory for a body.
  replica_unhealthy,     // Active checks of a cluster's replica fail; `detail`: which one, and why.
  replica_healthy,       // They pass again, after `length`; `detail`: which one.
  health_checks_ignored,  // Too few replicas of a cluster pass their checks; `detail`: how many.
  health_checks_used,     // There are enough again.
  name_changed,           // A DNS name of clusters has other addresses; `detail`: which ones.
  name_failed,            // It was not resolved, and keeps its addresses; `detail`: why.
  name_restored,          // It was resolved again, `length` after the last time.
};
inline constexpr EnumNames<ProcessEvent::name_restored> kProcessEventNames = {
    "policy_refused",
    "listener_failed",
    "control_lost",
    "control_restored",
    "draining",
    "upgraded",
    "upgrade_failed",
    "out_of_descriptors",
    "descriptors_restored",
    "certificate_reloaded",
    "certificate_refused",
    "certificate_expires",
    "client_over_limit",
    "kept_bytes_exhausted",
    "replica_unhealthy",
    "replica_healthy",
    "health_checks_ignored",
    "health_checks_used",
    "name_changed",
    "name_failed",
    "name_restored"};
[[nodiscard]] constexpr std::string_view name(ProcessEvent kind) noexcept {
  return kProcessEventNames[kind];
}

}  // namespace damper::observe
