#include "damper/run/outgoing_fields.h"

#include <gtest/gtest.h>

namespace damper::run {
namespace {

using namespace std::chrono_literals;

std::string text(const OutgoingContext& context) {
  OutgoingFields fields;
  std::string all;
  for (const OutgoingFields::Field& field : fields.write(context)) {
    all.append(field.name).append("=").append(field.value).append(" ");
  }
  return all;
}

TEST(OutgoingFields, AnEmptyContextWritesNothing) { EXPECT_EQ(text({}), ""); }

TEST(OutgoingFields, AllFieldsInTheirOrder) {
  EXPECT_EQ(text({.remaining = 250ms,
                  .grpc_timeout = true,
                  .envoy_timeout = true,
                  .grpc_previous = 2,
                  .owner = "checkout",
                  .attempt = 3,
                  .criticality = "sheddable"}),
            "x-request-deadline=250 grpc-timeout=250000u x-envoy-expected-rq-timeout-ms=250 "
            "grpc-previous-rpc-attempts=2 damper-retry-owner=checkout damper-attempt=3 "
            "damper-criticality=sheddable ");
}

TEST(OutgoingFields, NoFieldClaimsMoreTimeThanRemains) {  // Invariant (1).
  EXPECT_EQ(text({.remaining = 1999us}), "x-request-deadline=1 ");
  EXPECT_EQ(text({.remaining = 999us, .envoy_timeout = true}),
            "x-request-deadline=0 x-envoy-expected-rq-timeout-ms=1 ");
}

TEST(OutgoingFields, TheAttemptOfAnOwnerAboveReplacesOurs) {
  EXPECT_EQ(text({.owner = "edge", .owner_attempt = 4, .attempt = 1}),
            "damper-retry-owner=edge damper-attempt=4 ");
}

TEST(OutgoingFields, TimeoutsOfOtherProtocolsNeedADeadline) {
  EXPECT_EQ(text({.grpc_timeout = true, .envoy_timeout = true}), "");
}

TEST(OutgoingFields, AWriteForgetsTheLastOne) {
  OutgoingFields fields;
  EXPECT_EQ(fields.write({.remaining = 1s, .owner = "a", .attempt = 1}).size(), 3U);
  EXPECT_EQ(fields.write({.attempt = 1}).size(), 1U);
}

}  // namespace
}  // namespace damper::run
