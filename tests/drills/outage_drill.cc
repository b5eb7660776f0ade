// Replicas that go away.
#include <csignal>

#include "drill.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// One of three replicas is killed under load, and stays away.
TEST(KillDrill, AReplicaThatIsKilledCostsNoRequest) {
  Node first({"work=1ms", "slots=100"});
  Node second({"work=1ms", "slots=100"});
  Node third({"work=1ms", "slots=100"});
  Clients clients(engine::Policy{}, {first.url(), second.url(), third.url()});
  clients.set_timeout(2s);
  clients.load().play_on(300, scaled(1s));
  first.process().kill();
  clients.load().play_on(300, scaled(2s));
  clients.load().settle();
  const Load::Summary summary = clients.load().summary();
  std::printf("%lld calls, %lld good, %lld attempts\n", static_cast<long long>(summary.calls),
              static_cast<long long>(summary.good), static_cast<long long>(clients.attempts()));
  EXPECT_GE(summary.goodput(), 0.999);
  EXPECT_LE(static_cast<double>(clients.attempts()), 1.1 * static_cast<double>(summary.calls) + 3);
}

// The only replica is killed for two seconds and comes back on its port: a storm, if the clients
// make it one.
TEST(StormDrill, AnOutageIsNotMadeAStormAndEndsWithTheOutage) {
  auto node = std::make_unique<Node>(std::vector<std::string>{"work=1ms", "slots=100"});
  const std::string port = "port=" + std::to_string(node->port());
  Clients clients(engine::Policy{}, {node->url()});
  clients.load().play_on(300, scaled(2s));
  node->process().kill();
  clients.load().play_on(300, scaled(2s));
  const std::int64_t attempts = clients.attempts();
  node = std::make_unique<Node>(std::vector<std::string>{port, "work=1ms", "slots=100"});
  const Instant up = run::now();
  clients.load().play_on(300, scaled(3s));
  clients.load().settle();
  // The budget is a tenth of the calls of ten seconds, those before the outage included.
  const auto calls = static_cast<double>(clients.load().summary(Instant::min(), up).calls);
  const Load::Summary after = clients.load().summary(up + scaled(2s));
  std::printf("%.3f attempts a call until its end; %.3f good from two seconds after it\n",
              static_cast<double>(attempts) / calls, after.goodput());
  EXPECT_LE(static_cast<double>(attempts), 1.1 * calls + 4);
  EXPECT_GT(after.goodput(), 0.99);
}

}  // namespace
}  // namespace damper::drills
