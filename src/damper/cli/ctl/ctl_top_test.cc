#include "damper/cli/ctl/ctl_top.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "damper/proxy/admin/admin_target_testing.h"

namespace damper::cli {
namespace {

using proxy::incident;
using proxy::ProxyState;

std::string top(const ProxyState& before, const ProxyState& after, Duration apart,
                std::size_t rows = 100) {
  std::ostringstream out;
  print_top(out, before, after, apart, {}, rows);
  return out.str();
}

TEST(CtlTop, TwoLooksMakeRates) {
  const ProxyState before = incident();
  ProxyState after = incident();
  auto& tally = after.routes[1].tally;
  tally.started += 500;
  tally.finished += 400;
  tally.verdicts[static_cast<std::size_t>(Verdict::success)] += 300;
  tally.attempts += 600;
  tally.retries[static_cast<std::size_t>(decide::Outcome::timeout)] += 100;
  const std::string page = top(before, after, std::chrono::seconds(2));
  EXPECT_NE(page.find("  route     req/s  success  tries/req  retries/s  under way  queue  budget  "
                      "breaker   p50   p99\n"
                      "  checkout    250    75.0%       1.20         50        110     17    2.0%  "
                      "open     80ms  2.5s\n"
                      "  assets        0        -          -          0          0      0    100%  "
                      "-         2ms   9ms\n"),
            std::string::npos)
      << page;
}

TEST(CtlTop, AProxyThatWasStartedAgainShowsNothingNegative) {
  ProxyState after = incident();
  after.routes[0].tally = {};
  after.routes[1].name = "new";
  const std::string page = top(incident(), after, std::chrono::seconds(1));
  EXPECT_EQ(page.find("-5"), std::string::npos) << page;
  EXPECT_NE(page.find("new     1,000"), std::string::npos) << page;
}

TEST(CtlTop, LooksAtTheSameInstantDivideByNothing) {
  EXPECT_NE(top(incident(), incident(), Duration{0}).find("checkout      0"), std::string::npos);
}

TEST(CtlTop, KeepsToTheRowsOfTheScreen) {
  ProxyState state = incident();
  for (int i = 0; i < 100; ++i)
    state.routes.push_back({.name = "r" + std::to_string(i), .cluster = "c"});
  for (int i = 0; i < 100; ++i) {
    state.clusters[0].replicas.push_back({.endpoint = "http://h:" + std::to_string(i)});
  }
  const std::string page = top(state, state, std::chrono::seconds(1), 24);
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 26);
  EXPECT_NE(page.find(" more\n"), std::string::npos);
}

}  // namespace
}  // namespace damper::cli
