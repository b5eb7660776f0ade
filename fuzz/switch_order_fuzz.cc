// Input: the body of PUT /switches or of PUT /breakers, and a state as `damper ctl` reads it. A
// valid one is printed and parsed to an equal one; the error of an invalid one is a short sentence.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/admin/state_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper;
  using namespace damper::proxy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto order = parse_switch_order(text)) {
    DAMPER_CHECK(!order->off || !order->reason.empty());
    DAMPER_CHECK(order->off || !order->length);
    DAMPER_CHECK(order->reason.size() <= admit::Reason::kLongest);
    DAMPER_CHECK(order->scope.text().size() <= kLongestScope);
    const auto back = parse_switch_order(print_order(*order));
    DAMPER_CHECK(back && *back == *order);
  } else {
    DAMPER_CHECK(!order.error().empty() && order.error().size() < 500);
  }
  if (const auto order = parse_breaker_order(text)) {
    const bool forced = order->force != admit::BreakerForce::none;
    DAMPER_CHECK(!forced || !order->reason.empty());
    DAMPER_CHECK(forced || !order->length);
    DAMPER_CHECK(order->setting().length == order->setting().bounded());
    const auto back = parse_breaker_order(print_breaker_order(*order));
    DAMPER_CHECK(back && *back == *order);
  } else {
    DAMPER_CHECK(!order.error().empty() && order.error().size() < 500);
  }
  if (const auto state = parse_state(text)) {
    const std::string written = state_json(*state);
    const auto back = parse_state(written);
    DAMPER_CHECK(static_cast<bool>(back));
  }
  return 0;
}
