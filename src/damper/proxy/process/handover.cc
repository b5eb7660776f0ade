#include "damper/proxy/process/handover.h"

#include <algorithm>

namespace damper::proxy {
namespace {

constexpr std::string_view kGiven = "given ";

}  // namespace

Handover handover_of(const std::vector<ScopeState>& scopes,
                     const std::vector<InheritedSocket>& sockets) {
  Handover out;
  for (const ScopeState& scope : scopes) {
    for (std::size_t i = 0; i < scope.switches.size(); ++i) {
      const admit::SwitchStatus& status = scope.switches[i];
      if (!status.off) continue;
      SwitchOrder order{.scope = scope.scope,
                        .which = static_cast<admit::Switch>(i),
                        .off = true,
                        .reason = status.reason};
      if (status.remaining < kLongest) order.length = status.remaining;
      if (order.reason.empty()) order.reason = "no reason was given";  // An order has one.
      out.switches.push_back(std::move(order));
    }
  }
  for (const InheritedSocket& socket : sockets) {
    if (!socket.any_port) continue;
    if (std::find(out.given.begin(), out.given.end(), socket.listener) != out.given.end()) continue;
    out.given.push_back(socket.listener);
  }
  return out;
}

std::string print_handover(const Handover& handover) {
  std::string out;
  for (const SwitchOrder& order : handover.switches) out += print_order(order) + '\n';
  for (const std::string& name : handover.given) out += std::string(kGiven) + name + '\n';
  return out;
}

Handover parse_handover(std::string_view text) {
  Handover out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kGiven)) {
      out.given.emplace_back(line.substr(kGiven.size()));
    } else if (auto order = parse_switch_order(line)) {
      out.switches.push_back(*std::move(order));
    }
  }
  return out;
}

}  // namespace damper::proxy
