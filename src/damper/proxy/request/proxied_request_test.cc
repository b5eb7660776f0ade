#include "damper/proxy/request/proxied_request.h"

#include "damper/proxy/request/proxied_request_testing.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::CloseReason;
using http::Protocol;
using Visit = Backend::Visit;

// Both protocols, on both sides.
struct Wire {
  Protocol down, up;
};
class ProxiedRequests : public ::testing::TestWithParam<Wire> {
 protected:
  ProxiedRequests() {
    stage.client_protocol = GetParam().down;
    stage.cluster.protocol = GetParam().up;
  }
  Stage stage;
};
INSTANTIATE_TEST_SUITE_P(
    Wires, ProxiedRequests,
    ::testing::Values(Wire{Protocol::h1, Protocol::h1}, Wire{Protocol::h1, Protocol::h2},
                      Wire{Protocol::h2, Protocol::h1}, Wire{Protocol::h2, Protocol::h2}),
    [](const auto& wire) {
      const auto word = [](Protocol p) { return std::string(p == Protocol::h2 ? "H2" : "H1"); };
      return word(wire.param.down) + "To" + word(wire.param.up);
    });

TEST_P(ProxiedRequests, AGetPassesWithItsFieldsBothWays) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.respond(200, "hello " + visit.request.target, {{"x-server", "s"}});
  });
  stage.begin();
  const auto got = stage.get("/a?b=c", {{"x-client", "c"}, {"traceparent", "00-1-2-01"}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "hello /a?b=c");
  EXPECT_EQ(got->fields.find("x-server"), "s");
  EXPECT_FALSE(got->fields.find("damper-verdict"));
  EXPECT_FALSE(got->fields.find("damper-attempts"));
  const Visit& seen = backend.visits.front();
  EXPECT_EQ(seen.field("x-client"), "c");
  EXPECT_EQ(seen.field("traceparent"), "00-1-2-01");
  EXPECT_EQ(seen.field("x-forwarded-for"), "127.0.0.1");
  EXPECT_EQ(seen.field("x-forwarded-proto"), "http");
  EXPECT_EQ(seen.field("damper-retry-owner"), "shop");
  EXPECT_EQ(seen.field("damper-attempt"), "1");
  EXPECT_NE(seen.field("x-request-deadline"), "-");
  EXPECT_EQ("http://" + seen.request.authority, stage.url);
  const Recorded& record = stage.record();
  EXPECT_EQ(record.method, "GET");
  EXPECT_EQ(record.target, "/a?b=c");
  EXPECT_EQ(record.route, "shop");
  EXPECT_EQ("http://" + record.replica, backend.url());
  EXPECT_EQ(record.traceparent, "00-1-2-01");
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.verdict, Verdict::success);
  EXPECT_EQ(record.ended, CloseReason::finished);
  EXPECT_EQ(record.attempts, 1u);
  EXPECT_EQ(record.bytes_out, got->body.size());
  EXPECT_EQ(stage.records.size(), 1u);
}

TEST_P(ProxiedRequests, APostPassesWithItsBody) {
  Backend& backend = stage.add([](Visit& visit) { visit.respond(201, visit.request.body); });
  stage.begin();
  const std::string body(70'000, 'b');
  const auto got = stage.fetch(stage.make("POST", "/", body));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 201);
  EXPECT_EQ(got->body, body);
  EXPECT_EQ(backend.visits.front().received, body.size());
  EXPECT_EQ(stage.record().bytes_in, body.size());
  EXPECT_EQ(stage.record().bytes_out, body.size());
}

TEST_P(ProxiedRequests, AnswersWithoutABodyPass) {
  stage.add([](Visit& visit) {
    if (visit.request.method == "HEAD")
      return visit.send_head({.status = 200, .content_length = 5}, true);
    visit.send_head({.status = visit.request.target == "/304" ? 304 : 204}, true);
  });
  stage.begin();
  EXPECT_EQ(stage.get("/204")->status, 204);
  EXPECT_EQ(stage.get("/304")->status, 304);
  const auto head = stage.fetch(stage.make("HEAD", "/"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
}

TEST_P(ProxiedRequests, A503IsTriedAgainAndTheAnswerSaysSo) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.field("damper-attempt") == "1" ? visit.respond(503, "no") : visit.respond(200, "yes");
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "yes");
  EXPECT_EQ(got->fields.find("damper-attempts"), "2");
  EXPECT_EQ(backend.requests(), 2u);
  EXPECT_EQ(stage.record().attempts, 2u);
}

TEST_P(ProxiedRequests, ARetryHasTheWholeBodyAgain) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.field("damper-attempt") == "1" ? visit.cancel() : visit.respond(200, visit.request.body);
  });
  stage.begin();
  const std::string body(50'000, 'b');
  const auto got = stage.fetch(stage.make("PUT", "/", body));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, body);
  EXPECT_EQ(backend.requests(), 2u);
}

TEST_P(ProxiedRequests, TheLastAnswerIsPassedOnWhenNoneSucceeds) {
  const std::string large(40'000, 'x');
  Backend& backend = stage.add([&](Visit& visit) {
    visit.respond(503, visit.field("damper-attempt") + large, {{"x-server", "s"}});
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 503);
  EXPECT_EQ(got->body, "3" + large);
  EXPECT_EQ(got->fields.find("x-server"), "s");
  EXPECT_EQ(got->fields.find("damper-verdict"), "attempts_spent");
  EXPECT_EQ(got->fields.find("damper-attempts"), "3");
  EXPECT_EQ(backend.requests(), 3u);
  EXPECT_EQ(stage.record().verdict, Verdict::attempts_spent);
  EXPECT_EQ(stage.record().status, 503);
}

TEST_P(ProxiedRequests, WhatTheServerMeansIsPassedOnAsItIs) {
  stage.add([](Visit& visit) { visit.respond(404, "no such thing"); });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 404);
  EXPECT_EQ(got->body, "no such thing");
  EXPECT_FALSE(got->fields.find("damper-verdict"));
  EXPECT_EQ(stage.record().verdict, Verdict::permanent);
}

TEST_P(ProxiedRequests, TrailersPassBothWays) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.respond(200, "body", {}, {{"x-sum", "17"}, {"grpc-status", "0"}});
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "body");
  EXPECT_EQ(got->trailers.find("x-sum"), "17");
  EXPECT_EQ(backend.requests(), 1u);
}

TEST_P(ProxiedRequests, TheTrailersOfARequestPassWithEveryAttempt) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.respond(visit.field("damper-attempt") == "1" ? 503 : 200, "said");
  });
  stage.begin();
  for (const std::string body : {"", "some of it"}) {
    Talker talker(stage.client());
    talker.trailers = {{"x-sum", "17"}, {"x-more", "yes"}};
    talker.say(body, true);
    talker.open(stage.url, stage.make("PUT", "/"));
    stage.run_until([&] { return talker.whole; });
    EXPECT_EQ(talker.response.status, 200);
    EXPECT_EQ(backend.visits.back().request.body, body);
    EXPECT_EQ(stage.record().attempts, 2u);
  }
  EXPECT_EQ(backend.requests(), 4u);
  for (const Visit& visit : backend.visits) {
    EXPECT_EQ(visit.trailers.find("x-sum"), "17");
    EXPECT_EQ(visit.trailers.find("x-more"), "yes");
  }
}

TEST_P(ProxiedRequests, WhatAReplicaSaysInOurWordsIsLeftOutWhereWeSayThem) {
  constexpr std::string_view kOurs = "damper-";
  stage.add([](Visit& visit) {
    visit.respond(503, "no", {{"Damper-Verdict", "shed"}, {"damper-attempts", "9"}, {"x", "y"}});
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  std::string said;
  for (const http::Field& field : got->fields.view()) {
    if (field.name.size() >= kOurs.size() &&
        http::same_name(field.name.substr(0, kOurs.size()), kOurs)) {
      said += std::string(field.value) + " ";
    }
  }
  EXPECT_EQ(said, "attempts_spent 3 ");
  EXPECT_EQ(got->fields.find("x"), "y");
}

TEST_P(ProxiedRequests, ARequestOnAConnectionThatWasIdleHasAllItsTime) {
  stage.route.settings.policy.call.timeout = 150ms;
  stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.get()->status, 200);
  stage.run_for(170ms);
  EXPECT_EQ(stage.get()->status, 200);
}

TEST_P(ProxiedRequests, AnAnswerThatIsNotWholeAtTheDeadlineIsNotBegun) {
  stage.route.settings.policy.call.timeout = 80ms;
  Backend& backend = stage.add([](Visit& visit) {
    if (visit.field("damper-attempt") != "1") return;
    visit.send_head({.status = 503, .content_length = 100});
    visit.say("half of it");
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 504);
  EXPECT_EQ(got->fields.find("damper-verdict"), "deadline_passed");
  EXPECT_EQ(backend.requests(), 2u);
}

TEST_P(ProxiedRequests, TrapP3_AnAnswerThatHasBegunIsNeverTriedAgain) {
  Backend& backend = stage.add([](Visit& visit) {
    visit.send_head({.status = 200, .content_length = 100});
    visit.say("half of it");
    visit.later(5ms, [](Visit& later) { later.cancel(); });
  });
  stage.begin();
  const auto got = stage.get();
  EXPECT_FALSE(got);
  EXPECT_EQ(stage.record().status, 200);
  EXPECT_EQ(stage.record().ended, CloseReason::cancelled);
  EXPECT_EQ(backend.requests(), 1u);
}

TEST_P(ProxiedRequests, WithAResponseBufferAnAnswerThatBreaksOffIsTriedAgain) {
  stage.route.response_buffer = 1000;
  Backend& backend = stage.add([](Visit& visit) {
    if (visit.field("damper-attempt") == "2") return visit.respond(200, "whole");
    visit.send_head({.status = 200, .content_length = 100});
    visit.say("half of it");
    visit.later(5ms, [](Visit& later) { later.cancel(); });
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "whole");
  EXPECT_EQ(backend.requests(), 2u);
}

TEST_P(ProxiedRequests, AnAnswerOverTheResponseBufferIsPassedOn) {
  stage.route.response_buffer = 1000;
  const std::string large(200'000, 'x');
  stage.add([&](Visit& visit) {
    visit.send_head({.status = 200});
    visit.say(large, true);
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, large);
}

TEST_P(ProxiedRequests, TrapP2_AStatusInTheTrailersOfAUnaryCallIsTriedAgain) {
  stage.route.response_buffer = 1000;
  stage.route.assume_idempotent = true;
  Backend& backend = stage.add([](Visit& visit) {
    const bool first = visit.field("damper-attempt") == "1";
    visit.respond(200, "message", {{"content-type", "application/grpc"}},
                  {{"grpc-status", first ? "14" : "0"}});
  });
  stage.begin();
  const auto got =
      stage.fetch(stage.make("POST", "/", "x", {{"content-type", "application/grpc"}}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->trailers.find("grpc-status"), "0");
  EXPECT_EQ(stage.record().grpc_status, 0);
  EXPECT_EQ(got->fields.find("damper-attempts"), "2");
  EXPECT_EQ(backend.requests(), 2u);
}

TEST_P(ProxiedRequests, TheClientThatGoesAwayTakesItsAttemptAlong) {
  bool gone = false;
  Backend& backend = stage.add([](Visit&) {});
  backend.on_over = [&](Visit&) { gone = true; };
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return backend.requests() == 1; });
  talker.cancel();
  stage.run_until([&] { return gone; });
  EXPECT_EQ(stage.record().verdict, Verdict::cancelled);
  EXPECT_EQ(stage.record().ended, CloseReason::reset);
  EXPECT_EQ(stage.record().status, 0);
}

TEST_P(ProxiedRequests, TheDeadlineHoldsWhileAnAnswerIsPassedOn) {
  stage.route.settings.policy.call.timeout = 60ms;
  Backend& backend = stage.add([](Visit& visit) {
    visit.send_head({.status = 200});
    visit.say("some of it");
  });
  bool gone = false;
  backend.on_over = [&](Visit&) { gone = true; };
  stage.begin();
  EXPECT_FALSE(stage.get());
  EXPECT_EQ(stage.record().verdict, Verdict::deadline_passed);
  stage.run_until([&] { return gone; });
}

}  // namespace
}  // namespace damper::proxy
