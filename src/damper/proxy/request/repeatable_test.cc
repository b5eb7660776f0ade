#include "damper/proxy/request/repeatable.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace damper::proxy {
namespace {

struct Seen {
  bool safe;
  bool idempotent;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen see(std::string_view method, const RouteConfig& route, std::string_view key = {}) {
  const std::array<http::Field, 1> fields{{{.name = "idempotency-key", .value = key}}};
  http::Head head;
  head.method = method;
  if (!key.empty()) head.fields = fields;
  const Repeatable found = repeatable(head, route);
  return {found.safe, found.idempotent};
}

constexpr Seen kRead{true, true};
constexpr Seen kIdempotent{false, true};
constexpr Seen kOnce{false, false};

TEST(Repeatable, AMethodDecides) {
  EXPECT_EQ(see("GET", {}), kRead);
  EXPECT_EQ(see("PUT", {}), kIdempotent);
  EXPECT_EQ(see("POST", {}), kOnce);
}

TEST(Repeatable, AKeyMakesAPostRepeatableIfTheRouteTrustsIt) {
  EXPECT_EQ(see("POST", {}, "a1"), kIdempotent);
  RouteConfig route;
  route.trust_idempotency_key = false;
  EXPECT_EQ(see("POST", route, "a1"), kOnce);
  EXPECT_EQ(see("PUT", route, "a1"), kIdempotent);
}

TEST(Repeatable, ARouteDeclaresItsRequests) {
  RouteConfig route;
  route.assume_idempotent = true;
  EXPECT_EQ(see("POST", route), kIdempotent);
  route.assume_safe = true;
  EXPECT_EQ(see("POST", route), kRead);
}

}  // namespace
}  // namespace damper::proxy
