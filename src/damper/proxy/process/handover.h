#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/admin/switch_order.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// A Handover is the message of a proxy to its successor, beside its sockets.
//
// Why: an upgrade must not turn a switch on that an operator has turned off.
// Model: lines of text: a SwitchOrder in JSON for each switch that is off, with the remaining time;
// "given NAME" for each listener with a socket from systemd on another port than the file's. An
// unknown line is ignored: the other process may have another version.
// Invariants:
//   (1) parse_handover(print_handover(h)) is h.
struct Handover {
  std::vector<SwitchOrder> switches{};
  std::vector<std::string> given{};

  friend bool operator==(const Handover&, const Handover&) = default;
};

[[nodiscard]] Handover handover_of(const std::vector<ScopeState>& scopes,
                                   const std::vector<InheritedSocket>& sockets);
[[nodiscard]] std::string print_handover(const Handover& handover);
[[nodiscard]] Handover parse_handover(std::string_view text);

}  // namespace damper::proxy
