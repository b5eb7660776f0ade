#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/proxy/data/switch_scope.h"

namespace damper::proxy {

inline constexpr std::size_t kMostOrderBytes = std::size_t{64} * 1024;

// A SwitchOrder is the body of PUT /switches:
//   {"scope":"route/checkout","switch":"retries","off":true,"reason":"db failover","for":"30m"}
struct SwitchOrder {
  SwitchScope scope{};
  admit::Switch which = admit::Switch::retries;
  bool off = false;
  std::string reason{};
  std::optional<Duration> length{};  // nothing: until it is turned on

  // The setting for a Switches; it refers to this order.
  [[nodiscard]] admit::SwitchSetting setting(Instant now) const noexcept {
    return {.off = off, .until = length ? add(now, *length) : kNever, .reason = reason};
  }

  friend bool operator==(const SwitchOrder&, const SwitchOrder&) = default;
};

// Reads an order from JSON, or returns one sentence on the first error, which an unknown key is,
// too: "resaon" must not be an order without a reason. Without a scope the order is for the
// process.
//
// Invariants of a parsed order:
//   (1) An order to turn off has a reason of at most Reason::kLongest bytes, for the next
//       person on duty. An order to turn on has no length.
//   (2) parse_switch_order(print_order(order)) is the same order.
[[nodiscard]] Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text);
[[nodiscard]] std::string print_order(const SwitchOrder& order);

// A BreakerOrder is the body of PUT /breakers:
//   {"scope":"route/checkout","force":"open","reason":"db failover","for":"10m"}
//   {"scope":"cluster/payments","replica":"10.0.0.7:80","force":"none"}
struct BreakerOrder {
  SwitchScope scope{};
  std::string replica{};  // of a cluster; empty: the breakers of the scope's routes
  admit::BreakerForce force = admit::BreakerForce::none;  // none: a reset
  std::string reason{};
  std::optional<Duration> length{};  // nothing: that of BreakerForceSetting

  // It refers to this order.
  [[nodiscard]] admit::BreakerForceSetting setting() const noexcept {
    admit::BreakerForceSetting out{.force = force, .reason = reason};
    if (length) out.length = *length;
    return out;
  }

  friend bool operator==(const BreakerOrder&, const BreakerOrder&) = default;
};

// Reads an order from JSON, or returns one sentence on the first error.
//
// Invariants of a parsed order:
//   (1) An order to force has a reason of at most Reason::kLongest bytes, and a length within
//       BreakerForceSetting::kLength if it has one. A reset has no length.
//   (2) The scope is a route or a cluster; with a replica it is a cluster.
//   (3) parse_breaker_order(print_breaker_order(order)) is the same order.
[[nodiscard]] Expected<BreakerOrder, std::string> parse_breaker_order(std::string_view text);
[[nodiscard]] std::string print_breaker_order(const BreakerOrder& order);

}  // namespace damper::proxy
