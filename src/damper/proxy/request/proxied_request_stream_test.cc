#include "damper/proxy/request/proxied_request.h"

#include "damper/proxy/request/proxied_request_testing.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::CloseReason;
using http::Protocol;
using Visit = Backend::Visit;

constexpr std::size_t kLarge = std::size_t{32} << 20;

TEST(ProxiedRequestStream, ASlowReaderHoldsTheReplicaBack) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    Backend& backend = stage.add([](Visit& visit) {
      visit.send_head({.status = 200});
      visit.say(std::string(kLarge, 'x'), true);
    });
    stage.begin();
    Talker talker(stage.client());
    talker.consumes = false;
    talker.open(stage.url, stage.make("GET", "/"));
    stage.run_until([&] { return talker.received >= 60'000; });
    stage.run_for(50ms);
    const Visit& visit = backend.visits.front();
    // Most of it is still with the backend: the rest is in sockets and windows.
    EXPECT_GT(visit.unsent(), kLarge / 8) << (both == Protocol::h2);
    talker.consumes = true;
    talker.consume(talker.received);
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.received, kLarge);
    EXPECT_EQ(stage.record().bytes_out, kLarge);
  }
}

TEST(ProxiedRequestStream, ASlowReplicaHoldsTheClientBack) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    Backend& backend = stage.add();
    backend.on_head = [](Visit& visit) { visit.consumes = false; };
    backend.on_request = [](Visit& visit) { visit.respond(200); };
    stage.begin();
    Talker talker(stage.client());
    talker.say(std::string(kLarge, 'x'), true);
    talker.open(stage.url, stage.make("PUT", "/"));
    stage.run_until(
        [&] { return !backend.visits.empty() && backend.visits.front().received > 60'000; });
    stage.run_for(50ms);
    EXPECT_GT(talker.unsent(), kLarge / 8) << (both == Protocol::h2);
    Visit& visit = backend.visits.front();
    visit.consumes = true;
    visit.consume(visit.received);
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(visit.received, kLarge);
    EXPECT_EQ(talker.response.status, 200);
    EXPECT_EQ(stage.record().bytes_in, kLarge);
  }
}

TEST(ProxiedRequestStream, BothWaysAtOnceAsAGrpcStreamDoes) {
  Stage stage;
  stage.client_protocol = stage.cluster.protocol = Protocol::h2;
  Backend& backend = stage.add();
  backend.on_head = [](Visit& visit) { visit.send_head({.status = 200}); };
  backend.on_data = [](Visit& visit, std::string_view bytes) { visit.say(std::string(bytes)); };
  backend.on_request = [](Visit& visit) { visit.say("", true, {{"grpc-status", "0"}}); };
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  for (int i = 1; i <= 3; ++i) {
    talker.say("ping");
    stage.run_until([&] { return talker.received == 4U * static_cast<unsigned>(i); });
  }
  talker.say("last", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body, "pingpingpinglast");
  EXPECT_EQ(talker.response.trailers.find("grpc-status"), "0");
  EXPECT_EQ(stage.record().verdict, Verdict::success);
}

TEST(ProxiedRequestStream, AnAnswerBeforeTheRequestIsWholeEndsIt) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    Backend& backend = stage.add();
    backend.on_head = [](Visit& visit) { visit.respond(403, "no"); };
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, stage.make("PUT", "/"), false);
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.response.status, 403);
    EXPECT_EQ(stage.record().status, 403);
  }
}

TEST(ProxiedRequestStream, InterimAnswersPassBeforeTheAnswer) {
  for (const Protocol down : {Protocol::h1, Protocol::h2}) {
    for (const Protocol up : {Protocol::h1, Protocol::h2}) {
      Stage stage;
      stage.client_protocol = down;
      stage.cluster.protocol = up;
      Visit* asked = nullptr;
      stage.add([&](Visit& visit) {
        asked = &visit;
        visit.hint(103, {{"link", "</a>"}});
        visit.hint(102);
      });
      stage.begin();
      Talker talker(stage.client());
      talker.open(stage.url, stage.make("GET", "/"));
      stage.run_until([&] { return talker.hints == "103 </a>; 102 -; "; });
      EXPECT_FALSE(talker.answered);
      asked->respond(200, "real");
      stage.run_until([&] { return talker.whole; });
      EXPECT_EQ(talker.response.body, "real");
      EXPECT_EQ(talker.response.fields.find("link"), std::nullopt);
      EXPECT_EQ(stage.record().status, 200);
    }
  }
}

TEST(ProxiedRequestStream, AnAttemptMayFailAfterAnInterimAnswerAndOnlyOneIsHeard) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    int attempts = 0;
    for (int i = 0; i < 2; ++i) {
      stage.add([&](Visit& visit) {
        const std::string number = std::to_string(++attempts);
        visit.hint(103, {{"link", "</" + number + ">"}});
        visit.later(5ms, [number](Visit& later) { later.respond(number == "1" ? 503 : 200); });
      });
    }
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, stage.make("GET", "/"));
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.hints, "103 </1>; ");
    EXPECT_EQ(talker.response.status, 200);
    EXPECT_EQ(stage.record().attempts, 2u);
  }
}

TEST(ProxiedRequestStream, AReplicaThatNeverComesToItsAnswerIsGivenUp) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    stage.route.settings.policy.call.max_attempts = 1;
    stage.add([](Visit& visit) {
      for (int i = 0; i < 100; ++i) visit.hint(102);
    });
    stage.begin();
    Talker talker(stage.client());
    talker.open(stage.url, stage.make("GET", "/"));
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.hints.size(), 8 * std::string("102 -; ").size());
    EXPECT_EQ(talker.response.status, 502);
  }
}

TEST(ProxiedRequestStream, AFailedAttemptWhoseAnswerIsPassedOnTakesNothingOfABodyThatIsGone) {
  for (const Protocol both : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.client_protocol = stage.cluster.protocol = both;
    stage.route.request_buffer = 1000;
    Visit* failed = nullptr;
    Visit* second = nullptr;
    for (int i = 0; i < 2; ++i) {
      stage.add().on_head = [&](Visit& visit) {
        if (failed != nullptr) {
          second = &visit;
          return;
        }
        failed = &visit;
        visit.send_head({.status = 503, .content_length = 10});
        visit.say("half ");
      };
    }
    stage.begin();
    Talker talker(stage.client());
    talker.say(std::string(500, 'x'));
    talker.open(stage.url, stage.make("PUT", "/"), false);
    stage.run_until([&] { return second != nullptr && second->received == 500; });
    talker.say(std::string(5000, 'x'));  // Over the bound: what is taken is gone.
    stage.run_until([&] { return second->received == 5500; });
    second->cancel();
    stage.run_until([&] { return talker.received == 5; });
    talker.say(std::string(kLarge, 'x'));
    stage.run_until([&] { return talker.unsent() == 0; });  // Nobody wants it, nobody waits.
    failed->say("whole", true);
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.response.status, 503);
    EXPECT_EQ(talker.response.body, "half whole");
    EXPECT_EQ(talker.response.fields.find("damper-verdict"), "unrepeatable");
    EXPECT_LE(failed->received, 500u);
    talker.cancel();
  }
}

TEST(ProxiedRequestStream, AFailedAttemptThatHasRoomAgainTakesNothingOfABodyThatIsGone) {
  for (const Protocol up : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.cluster.protocol = up;
    stage.route.request_buffer = kLarge;
    Visit* failed = nullptr;
    Visit* second = nullptr;
    for (int i = 0; i < 2; ++i) {
      Backend& backend = stage.add();
      backend.on_head = [&](Visit& visit) {
        (failed == nullptr ? failed : second) = &visit;
        visit.consumes = second != nullptr;
      };
      backend.on_request = [](Visit& visit) { visit.respond(200); };
    }
    stage.begin();
    Talker talker(stage.client());
    talker.say(std::string(kLarge - 1000, 'x'));
    talker.open(stage.url, stage.make("PUT", "/"), false);
    stage.run_until([&] { return talker.unsent() == 0 && failed->received > 60'000; });
    failed->send_head({.status = 503, .content_length = 100});
    stage.run_until([&] { return second != nullptr && second->received == kLarge - 1000; });
    talker.say(std::string(5000, 'x'));
    stage.run_until([&] { return second->received == kLarge + 4000; });
    const std::size_t before = failed->received;
    failed->consumes = true;
    failed->consume(before);
    stage.run_until([&] { return failed->received > before; });
    stage.run_for(20ms);  // And it is writable.
    EXPECT_LT(failed->received, kLarge - 1000);
    talker.say("last", true);
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.response.status, 200);
  }
}

TEST(RequestFactory, ARequestKeepsTheRoutesThatItBeganUnder) {
  Stage stage;
  Visit* visit = nullptr;
  stage.add([&](Visit& asked) { visit = &asked; });
  stage.begin();
  Talker old(stage.client());
  old.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return visit != nullptr; });
  auto empty = std::make_shared<LoopTable>(LoopTable{
      .config = std::make_shared<ProxyConfig>(), .matcher = RouteMatcher({}), .routes = {}});
  stage.sink->use(std::move(empty));
  EXPECT_EQ(stage.get()->status, 404);
  visit->respond(200, "as before");
  stage.run_until([&] { return old.whole; });
  EXPECT_EQ(old.response.body, "as before");
}

TEST(RequestFactory, RequestsAreUsedAgainAndNothingOfTheLastRequestIsLeft) {
  Stage stage;
  stage.add([](Visit& visit) {
    visit.respond(visit.request.target == "/bad" ? 503 : 200, visit.request.body,
                  {{"x-echo", visit.field("x-client")}});
  });
  stage.begin();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(stage.fetch(stage.make("PUT", "/bad", std::string(20'000, 'x')))->status, 503);
    const auto got = stage.get("/good");
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(got->body, "");
    EXPECT_EQ(got->fields.find("x-echo"), "-");
    EXPECT_EQ(stage.record().attempts, 1u);
    EXPECT_EQ(stage.record().bytes_in, 0u);
  }
  EXPECT_EQ(stage.records.size(), 40u);
}

TEST(ProxiedRequestStream, WhenTheServerGoesItsRequestsEnd) {
  Stage stage;
  bool over = false;
  Backend& backend = stage.add([](Visit&) {});
  backend.on_over = [&](Visit&) { over = true; };
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return backend.requests() == 1; });
  stage.stop_listening();
  stage.run_until([&] { return over && talker.closed; });
  EXPECT_EQ(stage.record().ended, CloseReason::cancelled);
}

}  // namespace
}  // namespace damper::proxy
