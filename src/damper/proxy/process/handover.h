#ifndef DAMPER_PROXY_PROCESS_HANDOVER_H_
#define DAMPER_PROXY_PROCESS_HANDOVER_H_

#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/admin/switch_order.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// A Handover is what a proxy tells the process that replaces it, beside its sockets.
//
// Why: a switch that somebody has turned off in an incident must not be on again because the
// program was upgraded meanwhile.
// Model: lines of text: an order, as PUT /switches takes it, for each switch that is off, with the
// time that is left; "given NAME" for each listener whose sockets are systemd's, and not where the
// file says. A line that is not understood is passed over: the other may be of another version.
// Invariants:
//   (1) What print_handover() makes is read the same.
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

#endif  // DAMPER_PROXY_PROCESS_HANDOVER_H_
