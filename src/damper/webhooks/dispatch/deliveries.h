#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/switches.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/webhooks/model/id.h"

namespace damper::webhooks {

// What an operator sees of an endpoint's deliveries.
struct EndpointStatus {
  admit::BreakerState breaker = admit::BreakerState::closed;
  std::int32_t in_flight = 0;
  std::optional<UnixTime> next_due{};       // of its first waiting delivery
  std::optional<UnixTime> blocked_until{};  // open breaker, or the server's retry time
  std::string last_error{};                 // of its last failed attempt; empty after a success
  std::uint64_t delivered = 0;              // since the start
  std::uint64_t failed = 0;                 // attempts, since the start
  std::string held{};                       // by a switch: its name; empty: none
  std::string_view held_scope{};            // of that switch: name(HoldScope)
};

struct DeliveryTotals {
  std::uint64_t attempts = 0;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;  // attempts
  std::uint64_t dead = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t probes = 0;          // attempts that test an endpoint whose breaker was open
  std::uint64_t proxy_failures = 0;  // attempts that the egress proxy did not let through
};

// What an operator can hold. What is held waits, and consumes no attempt.
enum class Hold : std::uint8_t {
  deliveries,  // no attempt starts
  retries,     // no retry starts
};
inline constexpr EnumNames<Hold::retries> kHoldNames = {"deliveries", "retries"};

struct HoldOrder {
  bool off = false;
  std::string reason{};              // of at most admit::Reason::kLongest bytes
  std::optional<Duration> length{};  // none: until it is turned on
};

// Of which deliveries. {}: of all.
struct HoldScope {
  std::string application{};
  std::optional<Id> endpoint{};  // of the application
};
inline constexpr std::string_view kAllScope = "all";
inline constexpr std::string_view kApplicationScope = "application";
inline constexpr std::string_view kEndpointScope = "endpoint";
[[nodiscard]] inline std::string_view name(const HoldScope& scope) noexcept {
  if (scope.endpoint) return kEndpointScope;
  return scope.application.empty() ? kAllScope : kApplicationScope;
}
struct HoldView {
  HoldScope scope;
  Hold which{};
  admit::SwitchStatus status;
};

// Deliveries is the API's view of the dispatcher.
// Thread safety: none; all on the loop's thread.
class Deliveries {
 public:
  virtual ~Deliveries() = default;
  // A message for these endpoints is durable, or dead letters were redriven: due at `due`.
  virtual void on_due(std::span<const Id> endpoints, UnixTime due) = 0;
  // The directory has changed: the endpoint is new, changed or removed.
  virtual void on_changed(Id endpoint) = 0;
  [[nodiscard]] virtual EndpointStatus status(Id endpoint) const = 0;
  [[nodiscard]] virtual DeliveryTotals totals() const = 0;
  // At once, also for what waits; attempts in flight end as they do. It is not stored. False: there
  // are too many holds.
  [[nodiscard]] virtual bool hold(const HoldScope& scope, Hold which, const HoldOrder& order) = 0;
  // Of this scope itself; scopes above are ignored.
  [[nodiscard]] virtual admit::SwitchStatus holding(const HoldScope& scope, Hold which) const = 0;
  // All that are in force, the widest first.
  [[nodiscard]] virtual std::vector<HoldView> holds() const = 0;
};

}  // namespace damper::webhooks
