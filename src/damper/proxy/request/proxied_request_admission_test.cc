#include "damper/proxy/request/proxied_request_testing.h"

// What holds a slot of the route's admission, and what a tunnel holds instead (design 0038).
namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using Visit = Backend::Visit;

constexpr std::size_t kMuch = std::size_t{8} << 20;  // More than sockets and windows hold.

// One at a time, and nobody waits for long.
http::AdmissionOptions one_at_a_time() {
  http::AdmissionOptions options;
  options.limit.kind = admit::LimitKind::fixed;
  options.limit.initial = options.limit.min = options.limit.max = 1;
  options.longest_wait = 50ms;
  return options;
}

void upgrade_or_answer(Visit& visit) {
  if (visit.request.target == "/chat") {
    visit.send_head({.status = 101, .upgrade = "websocket"});
  } else {
    visit.respond(200, "plain");
  }
}

void open_tunnel(Stage& stage, Talker& talker) {
  talker.upgrade = "websocket";
  talker.open(stage.url, stage.make("GET", "/chat"));
  stage.run_until([&] { return talker.answered; });
}

std::uint64_t overruns(const Stage& stage) { return stage.admission->admission().tally().overruns; }

TEST(ProxiedRequestAdmission, TrapP5_ASilentTunnelHoldsNoSlot) {
  Stage stage;
  stage.route.admission = one_at_a_time();
  stage.add(upgrade_or_answer);
  stage.begin();
  Talker talker(stage.client());
  open_tunnel(stage, talker);
  EXPECT_EQ(talker.response.status, 101);
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
  EXPECT_EQ(stage.get()->status, 200);
  talker.cancel();
  (void)stage.record();
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
}

TEST(ProxiedRequestAdmission, TrapP5_ASlowReaderHoldsNoSlot) {
  Stage stage;
  stage.route.admission = one_at_a_time();
  stage.add([](Visit& visit) {
    visit.request.target == "/much" ? visit.respond(200, std::string(kMuch, 'd'))
                                    : visit.respond(200, "plain");
  });
  stage.begin();
  Talker reader(stage.client());
  reader.consumes = false;
  reader.open(stage.url, stage.make("GET", "/much"));
  stage.run_until([&] { return reader.received > 0; });
  EXPECT_FALSE(reader.whole);
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
  EXPECT_EQ(stage.get()->status, 200);
  reader.cancel();
  (void)stage.record();
}

TEST(ProxiedRequestAdmission, ARequestWithoutAResponseHoldsItsSlot) {  // The control.
  Stage stage;
  stage.route.admission = one_at_a_time();
  Visit* silent = nullptr;
  stage.add([&](Visit& visit) { silent = &visit; });
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return silent != nullptr; });
  EXPECT_EQ(stage.admission->admission().in_flight(), 1);
  EXPECT_EQ(stage.get()->fields.find("damper-verdict"), "shed");
  talker.cancel();
  (void)stage.record();
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
}

TEST(ProxiedRequestAdmission, TunnelsHaveABoundOfTheirOwn) {
  Stage stage;
  stage.route.max_tunnels = 1;
  Backend& backend = stage.add(upgrade_or_answer);
  stage.begin();
  Talker first(stage.client());
  open_tunnel(stage, first);
  EXPECT_EQ(stage.shared->tunnels().taken(), 1u);
  {
    Talker second(stage.client());
    open_tunnel(stage, second);
    stage.run_until([&] { return second.whole; });
    EXPECT_EQ(second.response.status, 503);
    EXPECT_EQ(second.response.fields.find("damper-verdict"), "limited");
    EXPECT_TRUE(second.response.fields.find("retry-after"));
    EXPECT_EQ(second.response.body, "damper: the route has max_tunnels tunnels already\n");
  }
  EXPECT_EQ(stage.shared->refused_tunnels(), 1u);
  EXPECT_EQ(backend.requests(), 1u);
  EXPECT_EQ(stage.get()->status, 200);  // A request is no tunnel.
  first.cancel();
  (void)stage.record();
  EXPECT_EQ(stage.shared->tunnels().taken(), 0u);
  Talker third(stage.client());
  open_tunnel(stage, third);
  EXPECT_EQ(third.response.status, 101);
  third.cancel();
  (void)stage.record();
}

TEST(ProxiedRequestAdmission, AnUpgradeThatIsAnsweredIsNoTunnel) {
  Stage stage;
  stage.route.max_tunnels = 1;
  stage.add([](Visit& visit) { visit.respond(200, std::string(kMuch, 'd')); });
  stage.begin();
  Talker talker(stage.client());
  talker.consumes = false;
  open_tunnel(stage, talker);
  EXPECT_EQ(talker.response.status, 200);
  EXPECT_FALSE(talker.whole);
  EXPECT_EQ(stage.shared->tunnels().taken(), 0u);
  talker.cancel();
  (void)stage.record();
  EXPECT_EQ(stage.shared->tunnels().taken(), 0u);
}

TEST(ProxiedRequestAdmission, ARouteAllowsTheUpgradesThatItNames) {
  for (const bool allowed : {true, false}) {
    Stage stage;
    stage.route.upgrades = {allowed ? "websocket" : "other"};
    Backend& backend = stage.add(upgrade_or_answer);
    stage.begin();
    Talker talker(stage.client());
    open_tunnel(stage, talker);
    EXPECT_EQ(talker.response.status, allowed ? 101 : 403);
    EXPECT_EQ(backend.requests(), allowed ? 1u : 0u);
    EXPECT_EQ(stage.shared->tunnels().taken(), allowed ? 1u : 0u);
    EXPECT_EQ(stage.get()->status, 200);
    talker.cancel();
    (void)stage.record();
  }
}

TEST(ProxiedRequestAdmission, ATunnelTakesNoConnectionFromTheRequests) {
  Stage stage;
  stage.cluster.pool.max_connections = 1;
  stage.route.settings.policy.call.timeout = 2s;  // A request that waits for a connection fails.
  stage.add(upgrade_or_answer);
  stage.begin();
  Talker first(stage.client());
  Talker second(stage.client());
  open_tunnel(stage, first);
  open_tunnel(stage, second);
  EXPECT_EQ(second.response.status, 101);
  EXPECT_EQ(stage.get()->status, 200);
  EXPECT_EQ(stage.get()->status, 200);
  first.cancel();
  second.cancel();
  (void)stage.record();
  EXPECT_EQ(stage.get()->status, 200);
}

// The client's deadline is a tenth of the policy's timeout; then, as the control, longer than it.
TEST(ProxiedRequestAdmission, ACallersShortDeadlineIsNoOverload) {
  for (const bool is_short : {true, false}) {
    Stage stage;
    stage.route.admission = one_at_a_time();
    stage.route.settings.policy.call.timeout = 200ms;
    stage.add([](Visit&) {});
    stage.begin();
    const auto got = stage.get("/", {{"x-request-deadline", is_short ? "20" : "1000"}});
    EXPECT_EQ(got->status, 504);
    EXPECT_EQ(overruns(stage), is_short ? 0u : 1u);
    EXPECT_EQ(stage.admission->admission().in_flight(), 0);
    (void)stage.record();
  }
}

TEST(ProxiedRequestAdmission, AnUploadThatStallsIsNoOverload) {
  for (const bool stalls : {true, false}) {
    Stage stage;
    stage.route.admission = one_at_a_time();
    stage.route.settings.policy.call.timeout = 80ms;
    stage.add([](Visit&) {});
    stage.begin();
    Talker talker(stage.client());
    talker.say("some", !stalls);
    talker.open(stage.url, stage.make("POST", "/"), !stalls);
    stage.run_until([&] { return talker.answered; });
    EXPECT_EQ(talker.response.status, stalls ? 408 : 504);
    EXPECT_EQ(overruns(stage), stalls ? 0u : 1u);
    EXPECT_EQ(stage.admission->admission().in_flight(), 0);
    talker.cancel();
    (void)stage.record();
  }
}

}  // namespace
}  // namespace damper::proxy
