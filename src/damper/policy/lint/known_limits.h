#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/config/error.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// Why a defence does harm in a certain trouble although it works as designed. The harm matrix
// (`damper lab matrix`, docs/guide/harm.md) measures it: each of its cells that does not hold has
// one of these reasons.
enum class HarmReason : std::uint8_t {
  open_time,
  flapping,
  no_room,
  brown_out,
  reserve,
  slow_is_queue,
  slow_is_failure,
  two_shedders,
  jitter,
};

inline constexpr EnumNames<HarmReason::jitter> kHarmReasonNames = {
    "open-time",     "flapping",        "no-room",      "brown-out", "reserve",
    "slow-is-queue", "slow-is-failure", "two-shedders", "jitter"};
[[nodiscard]] constexpr std::string_view name(HarmReason reason) noexcept {
  return kHarmReasonNames[reason];
}

struct HarmText {
  std::string_view rules;  // of the matrix that it excuses, by their signs: g goodput, b back, a
                           // attempts
  std::string_view text;
};
[[nodiscard]] const HarmText& text_of(HarmReason reason);

inline constexpr std::string_view kHarmPage = "docs/guide/harm.md";

// A KnownLimit is a HarmReason that applies to a policy, by the defences that it uses.
//
// Why: each defence has such limits, those of the default policy included. They are no findings:
// nothing is wrong with the policy, and nothing has to be changed. But an operator has to know
// them.
struct KnownLimit {
  HarmReason reason;
  config::SourceLocation place;  // of the key; of the route when the key is not set
  std::string route;
  std::string key;  // of the defence, as in a policy file
};

// The limits of the defences that the routes use, by default or by their keys, in the order of the
// routes, then of the reasons. Those of the server's side are named with the client's defence that
// they involve. `jitter` is of controllers, which have no policy file: see `damper check` for a
// scenario of the lab.
[[nodiscard]] std::vector<KnownLimit> known_limits(std::span<const Route> routes);

// The number of different reasons among them.
[[nodiscard]] int count_reasons(std::span<const KnownLimit> limits);

}  // namespace damper::policy
