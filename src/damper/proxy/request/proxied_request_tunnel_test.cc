#include "damper/proxy/request/proxied_request_testing.h"

// Tunnels through a proxied request: upgrades and CONNECT.
namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::CloseReason;
using http::Protocol;
using Visit = Backend::Visit;

constexpr std::size_t kMuch = std::size_t{8} << 20;  // More than sockets and windows hold.
constexpr Duration kSettling = DAMPER_INSTRUMENTED != 0 ? 1500ms : 200ms;

http::Request connect(const Stage& stage) {
  http::Request request = stage.make("CONNECT", "/");
  request.target = request.authority = "db.example:5432";
  return request;
}

// Attempts that the replica has not been settled for.
std::uint32_t outstanding(Stage& stage) {
  ClusterState state;
  stage.upstream->describe(state, stage.loop.now());
  return state.replicas.front().outstanding;
}

TEST(ProxiedRequestTunnel, AnUpgradeIsATunnel) {
  Stage stage;
  stage.route.settings.policy.call.timeout = 1s;
  Backend& backend = stage.add([](Visit& visit) {
    visit.send_head({.status = 101, .upgrade = "websocket"});
    visit.say("hello");
  });
  backend.on_data = [](Visit& visit, std::string_view bytes) {
    visit.say("<" + std::string(bytes) + ">", bytes == "bye");
  };
  stage.begin();
  Talker talker(stage.client());
  talker.upgrade = "websocket";
  talker.open(stage.url, stage.make("GET", "/chat"));
  stage.run_until([&] { return talker.received == 5; });
  EXPECT_EQ(talker.response.status, 101);
  stage.run_for(1100ms);  // The deadline does not hold.
  talker.say("abc");
  stage.run_until([&] { return talker.received == 10; });
  EXPECT_EQ(talker.response.body, "hello<abc>");
  talker.say("bye");
  stage.run_until([&] { return talker.received == 15; });
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body, "hello<abc><bye>");
  talker.cancel();
  const Recorded& record = stage.record();
  EXPECT_EQ(record.status, 101);
  EXPECT_EQ(record.verdict, Verdict::success);
  EXPECT_EQ(record.bytes_out, 15u);
}

TEST(ProxiedRequestTunnel, TheClientsEndOfATunnelReachesTheReplica) {
  Stage stage;
  Backend& backend =
      stage.add([](Visit& visit) { visit.send_head({.status = 101, .upgrade = "websocket"}); });
  bool over = false;
  backend.on_over = [&](Visit&) { over = true; };
  backend.on_tunnel_end = [](Visit& visit) { visit.say("", true); };
  stage.begin();
  Talker talker(stage.client());
  talker.upgrade = "websocket";
  talker.open(stage.url, stage.make("GET", "/chat"));
  stage.run_until([&] { return talker.response.status == 101; });
  talker.say("last words", true);
  stage.run_until([&] { return over; });
  EXPECT_EQ(backend.visits.front().request.body, "last words");
  EXPECT_EQ(stage.record().status, 101);
}

// A backend that says what it has when the client has ended, and one that ends first.
TEST(ProxiedRequestTunnel, EachDirectionEndsByItselfAndNothingIsLost) {
  for (const bool client_first : {true, false}) {
    Stage stage;
    stage.route.match.methods = {"CONNECT"};
    std::string heard;
    bool backend_ended = false;
    bool over = false;
    Backend& backend = stage.add([&](Visit& visit) {
      visit.send_head({.status = 200});
      if (!client_first) visit.say(std::string(kMuch, 'd'), true);
    });
    backend.on_data = [&](Visit&, std::string_view bytes) { heard += bytes; };
    backend.on_tunnel_end = [&](Visit& visit) {
      backend_ended = true;
      if (client_first) visit.say(std::string(kMuch, 'd'), true);
    };
    backend.on_over = [&](Visit&) { over = true; };
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, connect(stage));
    stage.run_until([&] { return talker.answered; });
    if (client_first) {
      talker.say(std::string(kMuch, 'u'), true);
      stage.run_until([&] { return backend_ended; });
      EXPECT_FALSE(talker.whole);
    } else {
      stage.run_until([&] { return talker.whole; });
      EXPECT_FALSE(talker.closed);
      talker.say(std::string(kMuch, 'u'), true);
    }
    stage.run_until([&] { return talker.closed && over; });
    EXPECT_EQ(talker.closed, CloseReason::finished);
    EXPECT_EQ(backend.visits.front().closed, CloseReason::finished);
    EXPECT_EQ(heard, std::string(kMuch, 'u'));
    EXPECT_EQ(talker.received, kMuch);
    EXPECT_EQ(stage.record().bytes_in, kMuch);
    EXPECT_EQ(stage.record().bytes_out, kMuch);
    EXPECT_EQ(stage.record().ended, CloseReason::finished);
  }
}

TEST(ProxiedRequestTunnel, AResetOfOneSideIsAResetOfTheOther) {
  for (const bool client : {true, false}) {
    Stage stage;
    stage.route.match.methods = {"CONNECT"};
    bool over = false;
    Backend& backend = stage.add([](Visit& visit) { visit.send_head({.status = 200}); });
    backend.on_over = [&](Visit&) { over = true; };
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, connect(stage));
    stage.run_until([&] { return talker.answered; });
    if (client) {
      talker.cancel();
      stage.run_until([&] { return over; });
      EXPECT_EQ(backend.visits.front().closed, CloseReason::reset);
    } else {
      backend.visits.front().cancel();
      stage.run_until([&] { return talker.closed.has_value(); });
      EXPECT_EQ(talker.closed, CloseReason::reset);
      EXPECT_FALSE(talker.whole);
    }
    EXPECT_EQ(stage.record().ended, CloseReason::reset);
  }
}

// The replica closes for good: what the client goes on to say meets a reset.
TEST(ProxiedRequestTunnel, WhatCameBeforeAnEndArrivesThoughAResetFollows) {
  Stage stage;
  stage.route.match.methods = {"CONNECT"};
  stage.cluster.pool.limits.window_bytes =
      2 * kMuch;  // The proxy holds what the client does not take.
  Backend& backend = stage.add([](Visit& visit) {
    visit.send_head({.status = 200});
    visit.say(std::string(kMuch, 'd'), true);
  });
  stage.begin();
  Talker talker(stage.client());
  talker.consumes = false;
  talker.open(stage.url, connect(stage));
  stage.run_until([&] { return talker.received > 60'000; });
  stage.run_until([&] { return backend.visits.front().unsent() == 0; });
  stage.run_for(kSettling);         // All of it is with the proxy.
  backend.visits.front().cancel();  // It reads a little more, then it resets.
  talker.say(std::string(kMuch / 5, 'u'));
  stage.run_until([&] { return outstanding(stage) == 0; });
  EXPECT_LT(talker.received, kMuch);
  talker.consumes = true;
  talker.consume(talker.received);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.received, kMuch);
  EXPECT_EQ(stage.record().ended, CloseReason::reset);
}

TEST(ProxiedRequestTunnel, WhatAClientSaidBeforeItsEndArrivesThoughItIsGone) {
  Stage stage;
  stage.route.match.methods = {"CONNECT"};
  stage.route.request_buffer = 2 * kMuch;  // The proxy itself holds what the replica does not take.
  bool ended = false;
  Backend& backend = stage.add([](Visit& visit) {
    visit.consumes = false;
    visit.send_head({.status = 200});
  });
  backend.on_tunnel_end = [&](Visit&) { ended = true; };
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, connect(stage));
  stage.run_until([&] { return talker.answered; });
  talker.say(std::string(kMuch, 'u'), true);
  Visit& visit = backend.visits.front();
  stage.run_until([&] { return visit.received > 60'000 && talker.unsent() == 0; });
  stage.run_for(kSettling);  // All of it is with the proxy.
  talker.cancel();           // It reads a little more, then it resets.
  visit.say(std::string(kMuch / 4, 'd'));
  stage.run_until([&] { return stage.records.size() == 1; });
  EXPECT_LT(visit.received, kMuch);
  EXPECT_EQ(stage.sink->under_way(), 1u);
  visit.consumes = true;
  visit.consume(visit.received);
  stage.run_until([&] { return ended; });
  EXPECT_EQ(visit.received, kMuch);
  EXPECT_EQ(stage.record().bytes_in, kMuch);
  EXPECT_EQ(outstanding(stage), 0u);
}

TEST(ProxiedRequestTunnel, HalfClosedItStaysAsLongAsBytesMoveAndThenForItsIdleBound) {
  Stage stage;
  stage.route.match.methods = {"CONNECT"};
  stage.limits.body_timeout = 500ms;
  bool over = false;
  Backend& backend = stage.add([](Visit& visit) { visit.send_head({.status = 200}); });
  backend.on_over = [&](Visit&) { over = true; };
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, connect(stage));
  stage.run_until([&] { return talker.answered; });
  talker.say("done", true);
  for (std::size_t i = 1; i <= 4; ++i) {
    stage.run_for(150ms);
    backend.visits.front().say("tick");
    stage.run_until([&] { return talker.received == 4 * i || talker.closed; });
  }
  EXPECT_FALSE(talker.closed);
  stage.run_until([&] { return over && talker.closed; });
  EXPECT_EQ(backend.visits.front().closed, CloseReason::reset);
  EXPECT_EQ(stage.record().ended, CloseReason::idle_timeout);
}

TEST(ProxiedRequestTunnel, AnUpgradeThatIsRefusedIsAnAnswer) {
  Stage stage;
  stage.add([](Visit& visit) { visit.respond(200, "no chat here"); });
  stage.begin();
  Talker talker(stage.client());
  talker.upgrade = "websocket";
  talker.open(stage.url, stage.make("GET", "/chat"));
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.status, 200);
  EXPECT_EQ(talker.response.body, "no chat here");
}

TEST(ProxiedRequestTunnel, ConnectPassesOnlyWhereARouteNamesIt) {
  for (const bool allowed : {false, true}) {
    Stage stage;
    if (allowed) stage.route.match.methods = {"CONNECT"};
    Backend& backend = stage.add([](Visit& visit) { visit.send_head({.status = 200}); });
    backend.on_data = [](Visit& visit, std::string_view bytes) { visit.say(std::string(bytes)); };
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, connect(stage));
    stage.run_until([&] { return talker.answered; });
    EXPECT_EQ(talker.response.status, allowed ? 200 : 405);
    if (!allowed) continue;
    EXPECT_EQ(backend.visits.front().request.target, "db.example:5432");
    talker.say("echo");
    stage.run_until([&] { return talker.received == 4; });
    talker.cancel();
    EXPECT_EQ(stage.record().bytes_out, 4u);
  }
}

TEST(ProxiedRequestTunnel, ConnectPassesBetweenTheVersions) {
  for (const Protocol down : {Protocol::h1, Protocol::h2}) {
    for (const Protocol up : {Protocol::h1, Protocol::h2}) {
      Stage stage;
      stage.client_protocol = down;
      stage.cluster.protocol = up;
      stage.route.match.methods = {"CONNECT"};
      bool over = false;
      Backend& backend = stage.add();
      const auto answer = [](Visit& visit) { visit.send_head({.status = 200}); };
      backend.on_head = [&](Visit& visit) { visit.later(5ms, answer); };
      backend.on_tunnel_end = backend.on_request = [](Visit& visit) {
        if (visit.received > 0) visit.say("at your end", true);
      };
      backend.on_over = [&](Visit&) { over = true; };
      stage.begin();
      Talker talker(stage.client());
      if (down == Protocol::h2) talker.say("early ");
      talker.open(stage.url, connect(stage), down == Protocol::h1);
      stage.run_until([&] { return talker.answered; });
      EXPECT_EQ(talker.response.status, 200);
      const std::size_t early = down == Protocol::h2 ? 6 : 0;
      stage.run_until([&] { return backend.visits.front().received == early; });
      talker.say(std::string(kMuch, 'u'), true);
      stage.run_until([&] { return talker.closed && over; });
      EXPECT_EQ(talker.response.body, "at your end");
      EXPECT_EQ(talker.closed, CloseReason::finished);
      const Visit& visit = backend.visits.front();
      EXPECT_EQ(visit.request.target, "db.example:5432");
      EXPECT_EQ(visit.closed, CloseReason::finished);
      EXPECT_EQ(visit.received, kMuch + early);
      EXPECT_EQ(stage.record().status, 200);
    }
  }
}

TEST(ProxiedRequestTunnel, AResetOfAConnectPassesBetweenTheVersions) {
  for (const bool client : {true, false}) {
    for (const Protocol up : {Protocol::h1, Protocol::h2}) {
      Stage stage;
      stage.client_protocol = Protocol::h2;
      stage.cluster.protocol = up;
      stage.route.match.methods = {"CONNECT"};
      bool over = false;
      Backend& backend = stage.add();
      backend.on_head = [](Visit& visit) { visit.send_head({.status = 200}); };
      backend.on_over = [&](Visit&) { over = true; };
      stage.begin();
      Talker talker(stage.client());
      talker.open(stage.url, connect(stage), false);
      stage.run_until([&] { return talker.answered; });
      Visit& visit = backend.visits.front();
      client ? talker.cancel() : visit.cancel();
      stage.run_until([&] { return client ? over : talker.closed.has_value(); });
      EXPECT_EQ(client ? visit.closed : talker.closed, CloseReason::reset);
      EXPECT_EQ(stage.record().ended, CloseReason::reset);
    }
  }
}

}  // namespace
}  // namespace damper::proxy
