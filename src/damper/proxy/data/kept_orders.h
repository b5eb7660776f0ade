#pragma once

#include <map>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/proxy/data/switch_scope.h"
#include "damper/proxy/split/weighted_split.h"

namespace damper::proxy {

// KeptOrders are the orders of operators for one switch, or for breakers, by the name of the scope.
//
// Why: a reload may replace the object that has the name, and may add a cluster to a route with
// weighted_clusters: an order for the route must hold there too.
// Model: an Order has `until`. One for a route replaces those for its parts, "ROUTE@CLUSTER". One
// for a part leaves the route's order to the other parts that exist now, and ends it for later
// ones.
// Invariants:
//   (1) find() of a part is the later one of the order for it and the order for its route.
// Thread safety: none.
template <class Order>
class KeptOrders {
 public:
  // `existing`: the scopes of all routes and parts that exist.
  void set(const SwitchScope& scope, Order order, const std::vector<SwitchScope>& existing) {
    std::erase_if(orders_, [&](const auto& one) { return whole_of(one.first) == scope; });
    const SwitchScope whole = whole_of(scope);
    if (const auto found = orders_.find(whole); found != orders_.end()) {
      for (const SwitchScope& other : existing) {
        if (whole_of(other) == whole) orders_[other] = found->second;
      }
      orders_.erase(whole);
    }
    orders_[scope] = std::move(order);
  }
  // nullptr: there is none.
  [[nodiscard]] const Order* find(const SwitchScope& scope) const {
    auto found = orders_.find(scope);
    if (found == orders_.end()) found = orders_.find(whole_of(scope));
    return found == orders_.end() ? nullptr : &found->second;
  }
  void forget_expired(Instant now) {
    std::erase_if(orders_, [now](const auto& one) { return one.second.until <= now; });
  }

 private:
  // The route of a part, or the scope itself.
  [[nodiscard]] static SwitchScope whole_of(const SwitchScope& scope) {
    return {scope.kind, scope.name.substr(0, scope.name.find(kSplitMark))};
  }

  std::map<SwitchScope, Order> orders_;  // also of scopes that do not exist now
};

}  // namespace damper::proxy
