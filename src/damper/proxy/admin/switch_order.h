#ifndef DAMPER_PROXY_ADMIN_SWITCH_ORDER_H_
#define DAMPER_PROXY_ADMIN_SWITCH_ORDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"

namespace damper::proxy {

// A SwitchOrder is what an operator says to PUT /switches:
//   {"scope":"route/checkout","switch":"retries","off":true,"reason":"db failover","for":"30m"}
struct SwitchOrder {
  std::string scope{};  // "": the process; "cluster/NAME", "route/NAME"
  admit::Switch which = admit::Switch::retries;
  bool off = false;
  std::string reason{};
  std::optional<Duration> length{};  // nothing: until it is turned on again

  // As a Switches takes it; good as long as the order.
  [[nodiscard]] admit::SwitchSetting setting(Instant now) const noexcept {
    return {.off = off, .until = length ? add(now, *length) : kNever, .reason = reason};
  }

  friend bool operator==(const SwitchOrder&, const SwitchOrder&) = default;
};

inline constexpr std::size_t kMostOrderBytes = std::size_t{64} * 1024;
inline constexpr std::size_t kLongestScope = 300;

// The order that the JSON text says, or one sentence on what is wrong with it.
//
// Invariants, of one that was read:
//   (1) An order to turn off has a reason, of at most Switches::kLongestReason bytes: the next
//       person on duty has to know why. An order to turn on has no length.
//   (2) The scope is the process's, or a cluster's or a route's with a name.
//   (3) What print_order() makes of it reads the same.
// A key that is not known is an error: "resaon" must not be an order without one.
[[nodiscard]] Expected<SwitchOrder, std::string> parse_switch_order(std::string_view text);
[[nodiscard]] std::string print_order(const SwitchOrder& order);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_ADMIN_SWITCH_ORDER_H_
