#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/demo/demo_record.h"
#include "damper/demo/load_generator.h"

namespace damper::demo {

// The plot of the demo, as data: what happens in each act, when, and what to look at.

inline constexpr std::array<Act, 4> kActs = {Act::outage, Act::slow_replica, Act::overload,
                                             Act::kill_switch};

struct ActPlot {
  std::string_view title;
  std::string_view sentence;  // what to see
  std::string_view trouble;   // what is wrong, in a word or two
};
[[nodiscard]] const ActPlot& plot(Act act) noexcept;

// A fifth of it is calm, half of it is trouble; the switch is flipped in the middle of that.
[[nodiscard]] ActTimes times_of(Act act, Duration length) noexcept;

// Requests a second, at a time of the act. The backends together serve 600.
[[nodiscard]] double rate_at(Act act, const ActTimes& times, Duration at) noexcept;

// The clients of an act that have nothing but themselves, and those that have the proxy.
[[nodiscard]] LoadOptions unguarded_load(Act act, std::vector<std::string> backends);
[[nodiscard]] LoadOptions guarded_load(Act act, std::string proxy);

// The proxy's policy file, for these backends.
[[nodiscard]] std::string demo_policy(const std::vector<std::string>& backends);

}  // namespace damper::demo
