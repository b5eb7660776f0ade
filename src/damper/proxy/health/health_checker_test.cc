#include "damper/proxy/health/health_checker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "damper/http/client/client_testing.h"
#include "damper/proxy/health/grpc_health.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::TestServer;

class Events final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    text_ += std::string(engine::name(event.kind)) + ' ';
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// A checker on its own thread, and replicas on the loop of the test.
class HealthCheckerTest : public testing::Test {
 protected:
  HealthCheckerTest() {
    cluster_.name = "c";
    cluster_.options.interval = 10ms;
    cluster_.options.interval_jitter = 0ms;
    cluster_.options.unhealthy_interval = 10ms;
    cluster_.options.timeout = 10s;
    cluster_.health = std::make_shared<ClusterHealth>();
  }
  void add(const std::string& url) {
    cluster_.replicas.push_back({.endpoint = *http::parse_endpoint(url), .name = url});
  }
  [[nodiscard]] HealthState state(std::size_t i) const {
    return cluster_.health->find(cluster_.replicas[i].name).state;
  }
  // Runs the loop until it holds, at most for 10 s.
  [[nodiscard]] bool wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000; ++i) {
      if (holds()) return true;
      loop_.poll();
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  [[nodiscard]] bool becomes(HealthState wanted, std::size_t i = 0) {
    return wait_until([&] { return state(i) == wanted; });
  }

  http::Loop loop_;
  Events events_;
  std::atomic<int> changes_ = 0;
  CheckedCluster cluster_;
  HealthChecker checker_{&events_, [this](const std::string& /*cluster*/) { ++changes_; }};
};

TEST_F(HealthCheckerTest, AReplicaIsTakenOutAndReturnsByItsStatus) {
  int status = 200;
  TestServer good(loop_, [](auto& exchange) { exchange.respond(200, "ok"); });
  TestServer other(loop_, [&](auto& exchange) { exchange.respond(status, "text"); });
  add(good.url());
  add(other.url());
  cluster_.options.path = "/ready";
  checker_.use({cluster_});
  ASSERT_TRUE(becomes(HealthState::healthy, 1));
  status = 503;
  ASSERT_TRUE(becomes(HealthState::unhealthy, 1));
  EXPECT_EQ(cluster_.health->find(cluster_.replicas[1].name).reason, "status 503");
  EXPECT_FALSE(cluster_.health->is_ignored());
  EXPECT_GE(cluster_.health->probes(ProbeOutcome::failed), 3U);
  const int before = changes_;
  checker_.use({cluster_});  // (2): a reload keeps the state.
  EXPECT_EQ(state(1), HealthState::unhealthy);
  status = 200;
  ASSERT_TRUE(becomes(HealthState::healthy, 1));
  EXPECT_TRUE(wait_until([&] { return changes_ > before; }));
  EXPECT_NE(events_.text().find("replica_unhealthy replica_healthy"), std::string::npos)
      << events_.text();
  EXPECT_EQ(good.connections, 1);  // It is kept.
}

TEST_F(HealthCheckerTest, AWrongPathEverywhereIsIgnoredAndVisible) {
  TestServer one(loop_, [](auto& exchange) { exchange.respond(404); });
  TestServer two(loop_, [](auto& exchange) { exchange.respond(404); });
  add(one.url());
  add(two.url());
  checker_.use({cluster_});
  ASSERT_TRUE(becomes(HealthState::unhealthy, 0));
  ASSERT_TRUE(becomes(HealthState::unhealthy, 1));
  EXPECT_TRUE(wait_until([&] { return cluster_.health->is_ignored(); }));
  EXPECT_TRUE(wait_until(
      [&] { return events_.text().find("health_checks_ignored") != std::string::npos; }));
  checker_.use({});
  EXPECT_TRUE(wait_until([&] { return cluster_.health->all().empty(); }));
  EXPECT_FALSE(cluster_.health->is_ignored());
}

TEST_F(HealthCheckerTest, AConnectionIsEnoughForTcp) {
  auto server = std::make_unique<TestServer>(loop_, [](auto& exchange) { exchange.respond(500); });
  add(server->url());
  cluster_.options.type = HealthCheckType::tcp;
  checker_.use({cluster_});
  ASSERT_TRUE(becomes(HealthState::healthy));
  EXPECT_EQ(server->requests, 0);
  server.reset();
  ASSERT_TRUE(becomes(HealthState::unhealthy));
  EXPECT_EQ(cluster_.health->find(cluster_.replicas[0].name).reason, "connect_refused");
}

TEST_F(HealthCheckerTest, AServerThatHangsTimesOut) {
  TestServer server(loop_, [](auto& /*exchange*/) {});
  add(server.url());
  cluster_.options.timeout = 50ms;
  cluster_.options.unhealthy_threshold = 1;
  checker_.use({cluster_});
  ASSERT_TRUE(becomes(HealthState::unhealthy));
  EXPECT_EQ(cluster_.health->find(cluster_.replicas[0].name).reason, "timeout");
}

TEST_F(HealthCheckerTest, GrpcNeedsServing) {
  std::string status(1, '\x02');  // NOT_SERVING
  std::string asked;
  TestServer server(loop_, {.plain = http::Protocol::h2}, [&](auto& exchange) {
    asked = exchange.request.target + exchange.request.body;
    exchange.respond(200, std::string(4, '\0') + "\x02\x08" + status,
                     {{"content-type", "application/grpc"}, {"grpc-status", "0"}});
  });
  add(server.url());
  cluster_.options.type = HealthCheckType::grpc;
  cluster_.options.service = "a.B";
  checker_.use({cluster_});
  ASSERT_TRUE(becomes(HealthState::unhealthy));
  EXPECT_EQ(cluster_.health->find(cluster_.replicas[0].name).reason, "serving status 2");
  EXPECT_EQ(asked, std::string(kGrpcHealthPath) + grpc_health_request("a.B"));
  status = '\x01';
  EXPECT_TRUE(becomes(HealthState::healthy));
}

TEST_F(HealthCheckerTest, ProbesInFlightAreBounded) {
  int most = 0;
  int open = 0;
  TestServer server(loop_, [&](auto& exchange) {
    most = std::max(most, ++open);
    exchange.respond_in(20ms, 200);
  });
  server.on_exchange_over = [&] { --open; };
  for (std::size_t i = 0; i < 2 * HealthChecker::kMostProbes; ++i) {
    cluster_.replicas.push_back(
        {.endpoint = *http::parse_endpoint(server.url()), .name = std::to_string(i)});
  }
  checker_.use({cluster_});
  EXPECT_TRUE(wait_until([&] { return cluster_.health->probes(ProbeOutcome::passed) > 400; }));
  EXPECT_LE(most, static_cast<int>(HealthChecker::kMostProbes));
}

}  // namespace
}  // namespace damper::proxy
