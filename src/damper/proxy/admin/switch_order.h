#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/proxy/admin/order_json.h"
#include "damper/proxy/data/switch_scope.h"

namespace damper::proxy {

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

// Reads an order from JSON, or returns one sentence on the first error. Without a scope the order
// is for the process.
//
// Invariants of a parsed order:
//   (1) An order to turn off has a reason of at most Reason::kLongest bytes, for the next
//       person on duty. An order to turn on has no length.
//   (2) parse_switch_order(print_order(order)) is the same order.
[[nodiscard]] Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text);
[[nodiscard]] std::string print_order(const SwitchOrder& order);

}  // namespace damper::proxy
