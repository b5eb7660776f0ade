#include "damper/demo/demo_acts.h"

#include <gtest/gtest.h>

#include "damper/proxy/config/proxy_config.h"

namespace damper::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DemoActs, AnActIsCalmThenTroubleThenAfterIt) {
  const ActTimes times = times_of(Act::outage, seconds(10));
  EXPECT_EQ(times.trouble, seconds(2));
  EXPECT_EQ(times.over, seconds(7));
  EXPECT_EQ(times.end, seconds(10));
  EXPECT_EQ(times.flip, std::nullopt);
  EXPECT_EQ(times_of(Act::kill_switch, seconds(10)).flip, Duration(milliseconds(4500)));
}

TEST(DemoActs, OnlyAnOverloadHasASurge) {
  for (const Act act : kActs) {
    const ActTimes times = times_of(act, seconds(10));
    const double calm = rate_at(act, times, seconds(1));
    EXPECT_EQ(rate_at(act, times, seconds(2)), act == Act::overload ? 900 : calm);
    EXPECT_EQ(rate_at(act, times, seconds(7)), calm);
  }
}

TEST(DemoActs, ThePolicyLoads) {
  const auto config = proxy::load_proxy(
      demo_policy({"http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"}), "demo");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->clusters[0].endpoints.size(), 3U);
  EXPECT_EQ(config->routes[0].name, "patient");  // Asked before the one that matches everything.
  EXPECT_EQ(config->routes.size(), 2U);
}

TEST(DemoActs, NaiveClientsTryFourTimesAndGuardedOnesOnce) {
  EXPECT_EQ(unguarded_load(Act::outage, {"http://127.0.0.1:1"}).attempts, 4U);
  EXPECT_EQ(guarded_load(Act::outage, "http://127.0.0.1:1").attempts, 1U);
  EXPECT_EQ(unguarded_load(Act::kill_switch, {}).path, guarded_load(Act::kill_switch, "").path);
}

}  // namespace
}  // namespace damper::demo
