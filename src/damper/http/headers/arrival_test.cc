#include "damper/http/headers/arrival.h"

#include <gtest/gtest.h>

#include <vector>

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kArrived{seconds(100)};
constexpr UnixTime kWall{milliseconds(1'700'000'000'000)};

run::RequestContext arrival(const std::vector<Field>& fields, const ArrivalOptions& options = {}) {
  return read_arrival(fields, {kArrived, kWall}, options);
}
Duration given(const std::vector<Field>& fields, const ArrivalOptions& options = {}) {
  return between(kArrived, arrival(fields, options).deadline.at());
}

TEST(GuardArrival, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(ArrivalOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.default_deadline = Duration{0}}),
            "default_deadline is 0s; it must be from 1ms to 720h");
  EXPECT_EQ(find_error({.longest_deadline = std::chrono::hours(721)}),
            "longest_deadline is 721h; it must be from 1ms to 720h");
}

TEST(GuardArrival, TheDeadlineIsTheEarliestThatAnyHeaderSays) {
  EXPECT_EQ(given({{"X-Request-Deadline", "250"}}), milliseconds(250));
  EXPECT_EQ(given({{"grpc-timeout", "2S"}}), seconds(2));
  EXPECT_EQ(given({{"x-envoy-expected-rq-timeout-ms", "300"}}), milliseconds(300));
  EXPECT_EQ(given({{"grpc-timeout", "2S"}, {"x-request-deadline", "250"}}), milliseconds(250));
  EXPECT_EQ(given({{"x-request-deadline", "1700000000400"}}), milliseconds(400));  // A date.
}

TEST(GuardArrival, WithoutAnyTheDefaultHoldsAndNoneIsLongerThanTheLongest) {
  EXPECT_EQ(given({}), seconds(10));
  EXPECT_EQ(given({{"grpc-timeout", "soon"}}), seconds(10));
  EXPECT_EQ(given({{"grpc-timeout", "99H"}}), seconds(60));
  EXPECT_EQ(given({}, {.default_deadline = seconds(5), .longest_deadline = seconds(2)}),
            seconds(2));
  EXPECT_EQ(given({{"x-request-deadline", "0"}}), seconds(0));  // It has passed.
}

TEST(GuardArrival, WhoRetriesAboveIsPassedOn) {
  const auto owned = arrival({{"damper-retry-owner", "checkout"}, {"damper-attempt", "2"}});
  EXPECT_TRUE(owned.owned_above.retries);
  EXPECT_EQ(owned.retry_owner, "checkout");
  EXPECT_EQ(owned.attempt, 2U);
  EXPECT_TRUE(arrival({{"x-envoy-attempt-count", "2"}}).owned_above.retries);
  EXPECT_TRUE(arrival({{"grpc-previous-rpc-attempts", "1"}}).owned_above.retries);
  EXPECT_FALSE(arrival({}).owned_above.retries);
  EXPECT_EQ(arrival({{"damper-retry-owner", "no spaces"}}).retry_owner, "");
}

TEST(GuardArrival, ACallerIsAtMostAsCriticalAsItMayBe) {
  using enum admit::Criticality;
  EXPECT_EQ(arrival({}).criticality, critical);
  EXPECT_EQ(arrival({{"damper-criticality", "sheddable"}}).criticality, sheddable);
  EXPECT_EQ(arrival({{"damper-criticality", "utmost"}}).criticality, critical);
  EXPECT_EQ(arrival({{"damper-criticality", "critical_plus"}}).criticality, critical_plus);
  const ArrivalOptions strangers{.most_critical = sheddable_plus,
                                 .default_criticality = sheddable_plus};
  EXPECT_EQ(arrival({{"damper-criticality", "critical_plus"}}, strangers).criticality,
            sheddable_plus);
  EXPECT_EQ(arrival({{"damper-criticality", "sheddable"}}, strangers).criticality, sheddable);
}

TEST(GuardArrival, AStrangerCanOnlyShortenItsOwnTimeAndBeLessCritical) {
  using enum admit::Criticality;
  const ArrivalOptions strangers{.trusted = false};
  const std::vector<Field> fields = {{"x-request-deadline", "1"},
                                     {"x-envoy-expected-rq-timeout-ms", "2"},
                                     {"damper-retry-owner", "checkout"},
                                     {"damper-attempt", "2"},
                                     {"x-envoy-attempt-count", "2"},
                                     {"grpc-previous-rpc-attempts", "1"},
                                     {"damper-criticality", "critical_plus"}};
  EXPECT_EQ(given(fields, strangers), seconds(10));
  const auto read = arrival(fields, strangers);
  EXPECT_FALSE(read.owned_above.retries);
  EXPECT_EQ(read.retry_owner, "");
  EXPECT_EQ(read.attempt, arrival({}).attempt);
  EXPECT_EQ(read.criticality, critical);
  EXPECT_FALSE(read.from_stranger);  // The deadline is our own.
  EXPECT_TRUE(arrival({{"grpc-timeout", "2S"}}, strangers).from_stranger);
  EXPECT_FALSE(arrival({{"grpc-timeout", "2S"}}).from_stranger);
  EXPECT_FALSE(arrival({{"grpc-timeout", "soon"}}, strangers).from_stranger);
  EXPECT_FALSE(arrival({{"grpc-timeout", "99H"}}, strangers).from_stranger);
  EXPECT_EQ(given({{"grpc-timeout", "2S"}}, strangers), seconds(2));
  EXPECT_EQ(given({{"grpc-timeout", "99H"}}, strangers), seconds(60));
  EXPECT_EQ(arrival({{"damper-criticality", "sheddable"}}, strangers).criticality, sheddable);
}

}  // namespace
}  // namespace damper::http
