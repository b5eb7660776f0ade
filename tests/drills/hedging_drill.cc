// One of three replicas stalls for 200 ms on 3 % of its answers: a hundredth of all, which is the
// p99.9 of every client.
#include <algorithm>

#include "drill.h"
#include "proxied.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct Seen {
  Load::Summary summary;
  std::int64_t requests = 0;    // at the servers
  std::int64_t cancelled = 0;   // seen so by them
  std::int64_t hedges = 0;      // sent
  std::int64_t waited_for = 0;  // calls that a stall kept waiting to its end
  std::int64_t stalled = 0;     // stalls that ran to their end
};

// Which side hedges: the clients, or the proxy that they go through.
enum class Way { direct, proxied };

constexpr std::string_view kHedged = R"(
    hedge_policy: { max_hedges: 1, quantile: 98.5, floor: 10ms, min_samples: 100,
                    additional_request_chance: { numerator: 5, denominator: HUNDRED } }
)";

Seen play(Way way, bool hedged) {
  Node slow({"work=1ms", "slots=100", "stall=200ms", "stall_percent=3"});
  Node second({"work=1ms", "slots=100"});
  Node third({"work=1ms", "slots=100"});
  engine::Policy policy;
  policy.call.timeout = 2s;
  if (way == Way::proxied) {
    policy.call.max_attempts = 1;
  } else if (hedged) {
    policy.call.hedge = {.max_hedges = 1,
                         .quantile = Percent::from_hundredths(98'50),
                         .floor = 10ms,
                         .min_samples = 100,
                         .ratio = Percent(5)};
  }
  // Of two replicas the less loaded is asked, whatever their latencies were: else the slow one
  // would hardly be asked again, and there would be little to hedge.
  std::vector<std::string> endpoints = {slow.url(), second.url(), third.url()};
  std::optional<Proxied> proxy;
  if (way == Way::proxied) {
    std::string file = cluster_of(endpoints, "    outlier_detection: { latency_half_life: 1ms }\n");
    file += "routes:\n  all:\n    cluster: backend\n    timeout: 2s\n";
    if (hedged) file += kHedged;
    endpoints = {proxy.emplace(file).url()};
  }
  Clients clients(policy, http::GuardedClientOptions{.endpoints = endpoints,
                                                     .replicas = {.latency_half_life = 1ms}});
  clients.set_timeout(2s);
  clients.load().play(200, scaled(1s));  // Latencies become known, connections are made.
  const auto waited_for = [&] {
    return std::ranges::count_if(clients.load().samples(),
                                 [](const Load::Sample& call) { return call.took > 150ms; });
  };
  const std::int64_t slow_before = waited_for();
  clients.load().forget();
  const auto requests = [&] {
    std::int64_t sum = 0;
    for (const Node* node : {&slow, &second, &third}) sum += node->stats().at("requests");
    return sum;
  };
  const std::int64_t before = requests();
  clients.load().play(600, scaled(5s));
  Seen seen;
  seen.summary = clients.load().summary();
  seen.requests = requests() - before;
  const engine::Tally tally = clients.dependency().tally();
  seen.hedges =
      static_cast<std::int64_t>(proxy ? proxy->metric("damper_hedges_total", {"result=\"sent\""})
                                      : static_cast<double>(tally.hedges));
  for (const Node* node : {&slow, &second, &third}) seen.cancelled += node->stats().at("cancelled");
  seen.waited_for = slow_before + waited_for();
  seen.stalled = slow.stats().at("stalled");
  return seen;
}

// Whether p99.9 is five times lower. What has nothing to do with time has to hold always.
bool overtakes(Way way) {
  const Seen plain = play(way, false);
  const Seen hedged = play(way, true);
  const double before = milliseconds(plain.summary.percentile(99.9));
  const double after = milliseconds(hedged.summary.percentile(99.9));
  const double more =
      static_cast<double>(hedged.requests) / static_cast<double>(hedged.summary.calls) - 1;
  std::printf(
      "p99.9 %.1f ms without hedging, %.1f ms with; %.2f %% more requests, %lld hedges, "
      "%lld cancelled\n",
      before, after, more * 100, static_cast<long long>(hedged.hedges),
      static_cast<long long>(hedged.cancelled));
  EXPECT_EQ(plain.summary.goodput(), 1);
  EXPECT_EQ(hedged.summary.goodput(), 1);
  EXPECT_GT(hedged.hedges, 0);
  EXPECT_GT(hedged.cancelled, 0);
  // A stall that ran to its end is one that its caller waited for, before enough was known to
  // hedge: every loser was seen cancelled by its server, but for those whose answer was on its way.
  EXPECT_LE(hedged.stalled, hedged.waited_for);
  EXPECT_LE(more, 0.05);
  return after * 5 <= before;
}

TEST(HedgingDrill, ASlowReplicaIsOvertakenAndItsLosersAreCancelled) {
  EXPECT_TRUE(holds_once_in_three([] { return overtakes(Way::direct) || !kTimed; }));
}

TEST(HedgingDrill, HoldsThroughTheProxy) {
  EXPECT_TRUE(holds_once_in_three([] { return overtakes(Way::proxied) || !kTimed; }));
}

}  // namespace
}  // namespace damper::drills
