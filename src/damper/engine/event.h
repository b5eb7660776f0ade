#ifndef DAMPER_ENGINE_EVENT_H_
#define DAMPER_ENGINE_EVENT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "damper/base/instant.h"

namespace damper::engine {

// An Event is a transition that somebody at 02:13 wants to read one line about. A request is not an
// event: there is one for the first failure, not one for each.
enum class EventKind : std::uint8_t {
  first_failure,      // The first failure after a quiet time; of a key, after it was well.
  repeated_failure,   // `count` failures in a row: 10, 100, 1000, ...
  recovered,          // A success after `count` failures in a row, at least 10; of a key, 3.
  backoff_growing,    // A call waits for its second retry, for `length`; first after a quiet time.
                      // A key does after its third failure.
  budget_exhausted,   // The retry budget refused.
  budget_refilled,    // It has half of what it earned again.
  breaker_opened,     // For `length`.
  breaker_half_open,  // Probes go.
  breaker_closed,     // Traffic ramps up.
  switch_flipped,     // `detail` says which and why.
  policy_reloaded,    // `count` is the policy's version.
  parked,             // A key was given up after `count` runs; `detail` says why.
  policy_refused,     // A new policy changed nothing; `detail` says why.
  control_lost,       // The fleet's control plane does not answer; `detail` says why.
  control_restored,   // It does again, after `length`.
  draining,           // The process takes no new work, and ends within `length`.
  upgraded,           // Another process, of pid `count`, has taken over.
  upgrade_failed,     // It has not, and this one goes on; `detail` says why.
};

inline constexpr std::array<std::string_view, 18> kEventNames = {
    "first_failure",    "repeated_failure", "recovered",        "backoff_growing",
    "budget_exhausted", "budget_refilled",  "breaker_opened",   "breaker_half_open",
    "breaker_closed",   "switch_flipped",   "policy_reloaded",  "parked",
    "policy_refused",   "control_lost",     "control_restored", "draining",
    "upgraded",         "upgrade_failed"};

[[nodiscard]] constexpr std::string_view name(EventKind kind) noexcept {
  return kEventNames[static_cast<std::size_t>(kind)];
}

// The views live as long as the call of on_event().
struct Event {
  EventKind kind{};
  std::string_view key{};  // the dependency, or the work queue's key
  Instant at{};
  std::int64_t count = 0;
  Duration length{0};
  std::string_view detail{};
};

// Whoever wants to know. Called from the thread that caused the transition, concurrently: it must
// be quick and thread-safe.
class EventSink {
 public:
  virtual void on_event(const Event& event) noexcept = 0;

 protected:
  ~EventSink() = default;
};

}  // namespace damper::engine

#endif  // DAMPER_ENGINE_EVENT_H_
