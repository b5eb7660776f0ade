#include "damper/cli/ctl/ctl_snapshots.h"

#include <gtest/gtest.h>

#include "damper/cli/ctl/ctl_status.h"
#include "damper/proxy/admin/admin_server_testing.h"

namespace damper::cli {
namespace {

using proxy::AdminFixture;
using proxy::incident;
using proxy::ProxyState;

void end(engine::Tally& tally, Verdict verdict, std::uint64_t calls) {
  tally.started += calls;
  tally.finished += calls;
  tally.attempts += calls;
  tally.verdicts[static_cast<std::size_t>(verdict)] += calls;
}

TEST(CtlLooks, WhatIsInBetweenIsTheDifference) {
  const ProxyState before = incident();
  ProxyState after = incident();
  end(after.routes[1].tally, Verdict::success, 3);
  end(after.routes[1].tally, Verdict::shed, 1);
  after.routes.push_back({.name = "new", .cluster = "c"});
  end(after.routes[2].tally, Verdict::success, 5);
  const auto changes = changes_between(before, after);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].tally.started, 0U);
  EXPECT_EQ(changes[1].tally.started, 4U);
  EXPECT_EQ(changes[1].tally.all_retries(), 0U);
  EXPECT_EQ(success_share(changes[1].tally), 0.75);
  EXPECT_EQ(changes[1].now->tally.started, 1004U);
  EXPECT_EQ(changes[2].tally.started, 5U);
}

TEST(CtlLooks, AStartInBetweenMakesNothingNegative) {
  ProxyState after = incident();
  after.routes[1].tally = {};
  EXPECT_EQ(changes_between(incident(), after)[1].tally.started, 0U);
}

TEST(CtlLooks, AFinalAnswerIsNoFailureOfTheRoute) {
  engine::Tally tally;
  end(tally, Verdict::success, 4);
  end(tally, Verdict::permanent, 4);
  end(tally, Verdict::conflict, 2);
  EXPECT_EQ(final_answers(tally), 6U);
  EXPECT_EQ(success_share(tally), 1);
  const proxy::RouteState route{.name = "a", .cluster = "c"};
  EXPECT_EQ(badness({.now = &route, .tally = tally}), 0);
  end(tally, Verdict::attempts_spent, 4);  // Of 8.
  EXPECT_EQ(success_share(tally), 0.5);
  EXPECT_EQ(success_share({}), 1);
}

TEST(CtlLooks, TwoLooksAreApartAndOneIsSinceTheStart) {
  AdminFixture admin;
  auto client = proxy::AdminClient::open(admin.url(), "");
  ASSERT_TRUE(client);
  const auto twice = take_snapshots(*client, std::chrono::milliseconds(1));
  ASSERT_TRUE(twice);
  EXPECT_GE(twice->apart, std::chrono::milliseconds(1));
  EXPECT_EQ(twice->before.routes.size(), twice->after.routes.size());
  const auto once = snapshots_since_start(*client);
  ASSERT_TRUE(once);
  EXPECT_EQ(once->apart, std::chrono::hours(3));
  EXPECT_TRUE(once->before.routes.empty());
}

}  // namespace
}  // namespace damper::cli
