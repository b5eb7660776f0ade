#include "damper/http/server/guard_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/http/server/exchange_testing.h"
#include "damper/http/server/guard_testing.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

bool shows(const observe::Registry& registry, const std::string& line) {
  return ("\n" + registry.expose()).find("\n" + line + "\n") != std::string::npos;
}

TEST(GuardMetrics, AGuardShowsWhatItDoesAndWhoWaits) {
  FakeGuardClock clock;
  Guard guard(guard_options(1), clock);
  observe::Registry registry;
  GuardMetrics metrics(registry, [&] { return clock.now(); });
  const auto shown = metrics.add(guard);
  EXPECT_TRUE(shows(registry,  // Invariant (1)
                    "damper_server_requests_total{criticality=\"sheddable\",server=\"server\","
                    "verdict=\"shed\"} 0"));
  std::vector<ExchangePtr> work;
  const Handler handler = guarded([&](ExchangePtr e) { work.push_back(std::move(e)); }, guard);
  const auto a = fake_exchange("GET");
  const auto b = fake_exchange("GET");
  handler(a);
  handler(b);
  clock.set(250);
  EXPECT_TRUE(shows(registry,
                    "damper_server_requests_total{criticality=\"critical\",server=\"server\","
                    "verdict=\"success\"} 1"));
  EXPECT_TRUE(shows(registry, "damper_server_inflight_requests{server=\"server\"} 1"));
  EXPECT_TRUE(shows(registry, "damper_server_limit{server=\"server\"} 1"));
  EXPECT_TRUE(shows(registry, "damper_server_queue_depth{server=\"server\"} 1"));
  EXPECT_TRUE(shows(registry, "damper_server_queue_age_seconds{server=\"server\"} 0.25"));
  work.front()->respond({});
  EXPECT_TRUE(shows(registry, "damper_server_work_seconds_count{server=\"server\"} 1"));
  EXPECT_TRUE(shows(registry, "damper_server_queue_wait_seconds_count{server=\"server\"} 2"));
  EXPECT_TRUE(shows(registry, "damper_server_queue_depth{server=\"server\"} 0"));
  work.clear();
}

TEST(GuardMetrics, AGateShowsTheSameWithoutAQueue) {
  ThreadGate gate({.name = "threads"});
  observe::Registry registry;
  GuardMetrics metrics(registry);
  const auto shown = metrics.add(gate);
  const auto ticket = gate.try_enter({}, run::now());
  EXPECT_TRUE(shows(registry, "damper_server_inflight_requests{server=\"threads\"} 1"));
  EXPECT_EQ(registry.expose().find("damper_server_queue_depth"), std::string::npos);
}

}  // namespace
}  // namespace damper::http
