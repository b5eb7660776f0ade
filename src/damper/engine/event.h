#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"

namespace damper::engine {

// The transitions that the engine emits. A request is not an event: the first failure is one, each
// further failure is not. What a process emits besides (it drains, its control plane is lost) is in
// observe/process_event.h.
enum class EventKind : std::uint8_t {
  first_failure,      // The first failure after a quiet time; of a work queue's key, after success.
  repeated_failure,   // `count` failures in a row: 10, 100, 1000, ...
  recovered,          // A success after `count` failures in a row, at least 10; of a key, 3.
  backoff_growing,    // A call waits for its second retry, for `length`; first after a quiet time.
                      // Of a key: after its third failure.
  budget_exhausted,   // The retry budget refused a retry.
  budget_refilled,    // The budget has half of its earned retries again.
  breaker_opened,     // The breaker refuses calls for `length`.
  breaker_half_open,  // The breaker admits probes.
  breaker_closed,     // Traffic ramps up.
  breaker_forced,     // By hand, for `length`: `detail` is the state or "reset", and the reason.
  switch_flipped,     // `detail` is the switch, its position and the reason.
  policy_reloaded,    // `count` is the policy's version.
  parked,             // A key was given up after `count` runs; `detail` is the reason.
};
inline constexpr EnumNames<EventKind::parked> kEventNames = {
    "first_failure",   "repeated_failure",  "recovered",
    "backoff_growing", "budget_exhausted",  "budget_refilled",
    "breaker_opened",  "breaker_half_open", "breaker_closed",
    "breaker_forced",  "switch_flipped",    "policy_reloaded",
    "parked"};
[[nodiscard]] constexpr std::string_view name(EventKind kind) noexcept { return kEventNames[kind]; }

// An EventName is the name of an event: an EventKind, or an enumerator of another module.
//
// Why: sinks (log, counters, feed) treat all events alike, and the engine does not list events that
// it never emits.
// Model: the text of name(kind), a function beside the enum that returns a text of static lifetime.
class EventName {
 public:
  constexpr EventName() = default;
  template <class Kind>
    requires std::is_enum_v<Kind>
  constexpr EventName(Kind kind) noexcept  // NOLINT(google-explicit-constructor)
      : text_(name(kind)) {}
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
  friend constexpr bool operator==(EventName, EventName) noexcept = default;

 private:
  std::string_view text_{};
};
[[nodiscard]] constexpr std::string_view name(EventName kind) noexcept { return kind.text(); }

// The views live as long as the call of on_event().
struct Event {
  EventName kind{};
  std::string_view key{};  // a dependency's name, a work queue's key, or the emitting component
  Instant at{};
  std::int64_t count = 0;
  Duration length{0};
  std::string_view detail{};
};

// An EventSink receives events. on_event() is called concurrently, by the threads that cause the
// transitions: it must be thread-safe and must not block.
class EventSink {
 public:
  virtual void on_event(const Event& event) noexcept = 0;

 protected:
  ~EventSink() = default;
};

}  // namespace damper::engine
