#include "damper/cli/ctl/ctl_status.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "damper/proxy/admin/admin_target_testing.h"

namespace damper::cli {
namespace {

using proxy::incident;
using proxy::ProxyState;

std::string status(const Snapshots& snapshots, text::ReportStyle style = {}) {
  std::ostringstream out;
  print_status(out, snapshots, style);
  return out.str();
}

TEST(CtlStatus, IsOnePageWithTheWorstFirst) {
  ProxyState state = incident();
  state.scopes[0].switches[0] = {
      .off = true, .remaining = std::chrono::minutes(29), .reason = "db failover"};
  state.scopes[2].switches[1] = {.off = true, .remaining = kForever, .reason = "cost"};
  EXPECT_EQ(
      status({.before = {}, .after = state, .apart = std::chrono::seconds(100)}),
      R"(policy version 7, up 3h, 2 loops, 41 requests under way
)"
      "2 switches are off, 1 breaker is not closed, 1 replica is ejected, "
      "spent budgets: 1 cluster and 1 route\n"
      R"(  OFF  retries of the process, for another 29m: db failover
  OFF  hedging of route checkout, until it is turned on: cost

)"
      "routes, over the last 1.7m (total: since the start)\n"
      "  route     cluster   req/s  success  final  tries/req  budget  breaker  limit  queue  "
      "throttle   p99  total  total ok\n"
      "  checkout  payments     10    90.9%      -       1.10    2.0%  open     60/64     17  "
      "   12.5%  2.5s  1,000     90.9%\n"
      "  assets    static       50     100%      -       1.00    100%  -            -      0  "
      "       -   9ms  5,000      100%\n"
      R"(
  cluster        budget  replicas in use
  (the process)   50.0%                -
  payments         4.0%           1 of 2
  static           100%           0 of 0

  replica               cluster   state              latency  asked now  connections  idle  waiting
  http://10.0.0.2:9000  payments  ejected on 2 of 2    900ms          0            1     1        4
  http://10.0.0.1:9000  payments  in use                12ms          3            8     5        0

  listener  address               connections
  edge      https://0.0.0.0:8443          120
)");
}

TEST(CtlStatus, ShowsWhatIsNowAndNotWhatWas) {
  // A month of health and a minute of outage, and the other way round.
  Snapshots snapshots{.before = incident(), .after = incident(), .apart = std::chrono::seconds(1)};
  for (ProxyState* state : {&snapshots.before, &snapshots.after}) {
    for (proxy::RouteState& route : state->routes) {
      route = {.name = route.name, .cluster = route.cluster};
    }
  }
  const auto add = [](engine::Tally& tally, std::uint64_t good, std::uint64_t bad) {
    tally.started += good + bad;
    tally.finished += good + bad;
    tally.attempts += good + 3 * bad;
    tally.verdicts[static_cast<std::size_t>(Verdict::success)] += good;
    tally.verdicts[static_cast<std::size_t>(Verdict::attempts_spent)] += bad;
  };
  for (ProxyState* state : {&snapshots.before, &snapshots.after}) {
    add(state->routes[0].tally, 0, 1000);    // assets failed
    add(state->routes[1].tally, 100000, 0);  // checkout was well
  }
  add(snapshots.after.routes[0].tally, 50, 0);
  add(snapshots.after.routes[1].tally, 0, 10);
  const std::string page = status(snapshots);
  EXPECT_LT(page.find("  checkout  payments     10"), page.find("  assets    static       50"))
      << page;
  EXPECT_NE(page.find("checkout  payments     10     0.0%      -       3.00"), std::string::npos)
      << page;
  EXPECT_NE(page.find("assets    static       50     100%      -       1.00"), std::string::npos)
      << page;
}

TEST(CtlStatus, SpentBudgetsOfTheProcessAndOfClustersAreTrouble) {
  ProxyState state;
  state.clusters = {{.name = "c", .budget = {.balance = 0, .fill = 0.01}, .replicas = {}}};
  state.budget.fill = 0;
  std::ostringstream out;
  print_summary(out, state, {});
  EXPECT_NE(out.str().find("spent budgets: the process and 1 cluster\n"), std::string::npos)
      << out.str();
}

TEST(CtlStatus, SaysThatLoopsDidNotAnswer) {
  ProxyState state;
  state.loops = 4;
  state.answered = 3;
  std::ostringstream out;
  print_summary(out, state, {});
  EXPECT_NE(out.str().find("only 3 of 4 loops answered"), std::string::npos) << out.str();
}

TEST(CtlStatus, SaysWhenNothingIsWrong) {
  ProxyState state;
  state.version = 1;
  state.loops = state.answered = 1;
  state.routes = {{.name = "all", .cluster = "c"}};
  const std::string page = status({.before = {}, .after = state});
  EXPECT_NE(page.find("nothing is open, ejected, spent or switched off\n"), std::string::npos)
      << page;
  state.draining = true;
  EXPECT_NE(status({.before = {}, .after = state}).find("it is draining\n"), std::string::npos);
}

TEST(CtlStatus, ColoursAreForTerminalsAlone) {
  const Snapshots snapshots{.before = {}, .after = incident()};
  EXPECT_EQ(status(snapshots).find('\x1b'), std::string::npos);
  EXPECT_NE(status(snapshots, {.colour = true}).find("\x1b["), std::string::npos);
}

TEST(CtlStatus, TheWorstRouteIsTheOneThatFails) {
  const auto badness = [](const proxy::RouteState& route) { return cli::badness({.now = &route}); };
  const proxy::RouteState well{.name = "a", .cluster = "c"};
  EXPECT_EQ(badness(well), 0);
  proxy::RouteState half = well;
  half.has_breaker = true;
  half.breaker = admit::BreakerState::half_open;
  proxy::RouteState open = half;
  open.breaker = admit::BreakerState::open;
  proxy::RouteState spent = well;
  spent.budget.fill = 0;
  EXPECT_GT(badness(open), badness(half));
  EXPECT_GT(badness(half), badness(spent));
  EXPECT_GT(badness(spent), 0);
}

TEST(CtlStatus, BreakersAreShownWithTheReplicasThatAreNotAsked) {
  ProxyState state = incident();
  std::ostringstream out;
  print_breakers(out, state, {});
  EXPECT_NE(out.str().find("  checkout  payments  open           0\n"), std::string::npos)
      << out.str();
  EXPECT_EQ(out.str().find("assets"), std::string::npos);
  EXPECT_NE(out.str().find("ejected on 2 of 2"), std::string::npos);
  state.routes.clear();
  std::ostringstream none;
  print_breakers(none, state, {});
  EXPECT_EQ(none.str().find("no route has a breaker\n"), 0U);
}

TEST(CtlStatus, ScopesAreWords) {
  EXPECT_EQ(scope_text({}), "the process");
  EXPECT_EQ(scope_text(proxy::SwitchScope::route("a/b")), "route a/b");
  EXPECT_EQ(scope_text(proxy::SwitchScope::cluster("\x1b")), "cluster \\u001b");
}

}  // namespace
}  // namespace damper::cli
