#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"

namespace damper::proxy {

// A SwitchScope is where a switch applies: the process, a cluster or a route. It has one spelling
// in the admin API, in etcd keys, in events and in metrics: "process", "cluster/NAME",
// "route/NAME".
//
// Invariants:
//   (1) parse_scope(text()) is the same scope.
struct SwitchScope {
  enum class Kind : std::uint8_t { process, cluster, route };

  Kind kind = Kind::process;
  std::string name{};  // empty for the process

  [[nodiscard]] static SwitchScope cluster(std::string name) {
    return {Kind::cluster, std::move(name)};
  }
  [[nodiscard]] static SwitchScope route(std::string name) {
    return {Kind::route, std::move(name)};
  }
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const SwitchScope&, const SwitchScope&) = default;
  friend bool operator==(const SwitchScope&, const SwitchScope&) = default;
};
inline constexpr EnumNames<SwitchScope::Kind::route> kScopeKindNames = {"process", "cluster",
                                                                        "route"};
inline constexpr std::size_t kLongestScope = 300;  // bytes of its text

// The scope of a text, or one sentence. An empty text is the process, as up to 0.9.
[[nodiscard]] Expected<SwitchScope> parse_scope(std::string_view text);

}  // namespace damper::proxy
