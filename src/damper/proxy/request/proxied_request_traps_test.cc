#include "damper/proxy/request/proxied_request.h"

#include "damper/proxy/request/proxied_request_testing.h"
#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::CloseReason;
using http::Protocol;
using Visit = Backend::Visit;

// A port that nobody listens on.
std::string closed_url() {
  http::Loop loop;
  const Backend gone(loop);
  return gone.url();
}

TEST(ProxiedRequest, TrapP1_ABodyOverTheBoundDoesNotKeepAConnectFailureFromBeingTriedAgain) {
  Stage stage;
  stage.route.request_buffer = 1000;
  stage.cluster.endpoints = {closed_url(), closed_url()};
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200, "got it"); });
  stage.begin();
  for (int i = 0; i < 8; ++i) {  // Whichever is asked first.
    const auto got = stage.fetch(stage.make("POST", "/", std::string(300'000, 'b')));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(backend.visits.back().received, 300'000u);
  }
}

TEST(ProxiedRequest, ABodyOverTheBoundThatWasSentIsNotSentAgain) {
  Stage stage;
  stage.route.request_buffer = 1000;
  Backend& backend = stage.add([](Visit& visit) { visit.respond(503, "no"); });
  stage.begin();
  const auto got = stage.fetch(stage.make("PUT", "/", std::string(300'000, 'b')));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 503);
  EXPECT_EQ(got->fields.find("damper-verdict"), "unrepeatable");
  EXPECT_EQ(backend.requests(), 1u);
  EXPECT_EQ(stage.record().verdict, Verdict::unrepeatable);
}

TEST(ProxiedRequest, TrapD1_TheDeadlineCountsFromTheFirstByte) {
  Stage stage;
  stage.route.settings.policy.call.timeout = 80ms;
  Backend& backend = stage.add([](Visit&) {});
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("PUT", "/"), false);  // Its body never ends.
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.status, 408);
  EXPECT_EQ(talker.response.fields.find("damper-verdict"), "deadline_passed");
  EXPECT_EQ(backend.requests(), 1u);
  EXPECT_LT(stage.record().took, 1s);
}

TEST(ProxiedRequest, TrapD2_EachAttemptIsToldTheTimeThatIsLeftForIt) {
  Stage stage;
  stage.route.settings.policy.call.timeout = 5s;
  stage.route.settings.policy.call.reserve = 500ms;
  stage.route.settings.policy.call.backoff = {.base = 20ms, .cap = 20ms};
  Backend& backend = stage.add([](Visit& visit) {
    if (visit.field("damper-attempt") == "2") return visit.respond(200);
    visit.later(20ms, [](Visit& later) { later.respond(503); });
  });
  stage.begin();
  ASSERT_EQ(stage.get("/", {{"x-request-deadline", "2000"}, {"grpc-timeout", "3S"}})->status, 200);
  const int first = std::stoi(backend.visits.front().field("x-request-deadline"));
  const int second = std::stoi(backend.visits.back().field("x-request-deadline"));
  EXPECT_LE(first, 1500);
  EXPECT_GT(first, 1000);
  EXPECT_LE(second, first - 20);
  EXPECT_TRUE(backend.visits.back().field("grpc-timeout").ends_with('u'));
}

TEST(ProxiedRequest, TrapD3_ADeadlineThatHasPassedReachesNoReplica) {
  Stage stage;
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  const auto got = stage.get("/", {{"grpc-timeout", "0n"}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 504);
  EXPECT_EQ(got->fields.find("damper-verdict"), "deadline_passed");
  EXPECT_EQ(got->body, "damper: the deadline has passed\n");
  EXPECT_EQ(backend.requests(), 0u);
  EXPECT_EQ(stage.record().verdict, Verdict::deadline_passed);
}

TEST(ProxiedRequest, TrapH4_ARetryGoesToAnotherReplica) {
  Stage stage;
  std::vector<Backend*> asked;
  for (int i = 0; i < 3; ++i) {
    Backend& backend = stage.add();
    backend.on_request = [&](Visit& visit) {
      asked.push_back(&backend);
      visit.respond(503);
    };
  }
  stage.begin();
  for (int i = 0; i < 4; ++i) {
    asked.clear();
    ASSERT_EQ(stage.get()->status, 503);
    ASSERT_EQ(asked.size(), 3u);
    EXPECT_NE(asked[0], asked[1]);
    EXPECT_NE(asked[1], asked[2]);
    EXPECT_NE(asked[0], asked[2]);
  }
}

TEST(ProxiedRequest, TrapH4_AHedgeGoesToTheBusierReplicaRatherThanToTheOneThatIsBeingAsked) {
  Stage stage;
  stage.route.settings.policy.call.max_attempts = 4;
  stage.route.settings.policy.call.hedge = {
      .max_hedges = 1, .floor = 5ms, .min_samples = 20, .ratio = Percent(100)};
  std::vector<std::size_t> asked;
  std::vector<http::ReplicaLease> busy;
  for (std::size_t i = 0; i < 2; ++i) {
    stage.add([&, i](Visit& visit) {
      if (visit.request.target != "/slow") return visit.respond(200);
      asked.push_back(i);
      if (asked.size() == 2) return;
      if (asked.size() > 2) return visit.respond(200);
      for (int n = 0; n < 5; ++n) {
        balance::ReplicaSet other;
        other.set(1 - i);
        busy.push_back(stage.upstream->pick_next(other, {}, stage.loop.now(), 0, std::nullopt));
        EXPECT_EQ(busy.back().replica(), i);
      }
      visit.respond(503);
    });
  }
  stage.begin();
  for (int i = 0; i < 30; ++i) ASSERT_EQ(stage.get()->status, 200);
  stage.run_for(260ms);  // The quantile is looked at every 250 ms.
  ASSERT_EQ(stage.get("/slow")->status, 200);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_NE(asked[1], asked[0]);
  EXPECT_NE(asked[2], asked[1]);
  EXPECT_EQ(stage.shared->dependency().tally().hedges_won, 1u);
  for (http::ReplicaLease& lease : busy) {
    lease.settle(decide::Outcome::cancelled, stage.loop.now());
  }
}

TEST(ProxiedRequest, AHedgeWinsAndTheLoserIsCancelled) {
  for (const Protocol up : {Protocol::h1, Protocol::h2}) {
    Stage stage;
    stage.cluster.protocol = up;
    stage.route.settings.policy.call.hedge = {
        .max_hedges = 1, .floor = 5ms, .min_samples = 20, .ratio = Percent(100)};
    bool slow = false;
    int cancelled = 0;
    for (int i = 0; i < 2; ++i) {
      Backend& backend = stage.add([&](Visit& visit) {
        if (std::exchange(slow, false)) return;  // The next one is quick.
        visit.respond(200, visit.field("damper-attempt"));
      });
      backend.on_over = [&](Visit& visit) { cancelled += visit.closed != CloseReason::finished; };
    }
    stage.begin();
    for (int i = 0; i < 30; ++i) ASSERT_EQ(stage.get()->status, 200);
    stage.run_for(260ms);  // The quantile is looked at every 250 ms.
    const int before = cancelled;
    slow = true;
    const auto got = stage.get();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->body, "2");
    EXPECT_EQ(got->fields.find("damper-attempts"), "2");
    stage.run_until([&] { return cancelled > before; });
    EXPECT_GE(stage.shared->dependency().tally().hedges_won, 1u);
  }
}

TEST(ProxiedRequest, TrapH6_OnlyReadsAreHedged) {
  for (const bool assume_safe : {false, true}) {
    Stage stage;
    stage.route.assume_safe = assume_safe;
    stage.route.settings.policy.call.hedge = {
        .max_hedges = 1, .floor = 5ms, .min_samples = 20, .ratio = Percent(100)};
    bool slow = false;
    for (int i = 0; i < 2; ++i) {
      stage.add([&](Visit& visit) {
        if (std::exchange(slow, false)) return;
        visit.respond(200);
      });
    }
    stage.route.settings.policy.call.timeout = 100ms;
    stage.begin();
    for (int i = 0; i < 30; ++i) ASSERT_EQ(stage.get()->status, 200);
    stage.run_for(260ms);  // The quantile is looked at every 250 ms.
    slow = true;
    const auto got = stage.fetch(stage.make("PUT", "/"));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, assume_safe ? 200 : 504);
    EXPECT_EQ(stage.shared->dependency().tally().hedges_won, assume_safe ? 1u : 0u);
  }
}

TEST(ProxiedRequest, TrapK1_AKillSwitchEndsAThousandRequestsThatWaitAtOnce) {
  Stage stage;
  stage.route.settings.policy.call.backoff = {.base = 5min, .cap = 5min};
  stage.route.settings.policy.call.timeout = 10min;
  stage.client_protocol = Protocol::h2;
  stage.cluster.protocol = Protocol::h2;
  int asked = 0;
  stage.add([&](Visit& visit) {
    ++asked;
    visit.respond(503, "no");
  });
  stage.begin();
  constexpr int kRequests = 1000;
  int ended = 0;
  for (int i = 0; i < kRequests; ++i) {
    stage.client().fetch(stage.make("GET", "/"), in(20s), [&](Result<http::Response> got) {
      EXPECT_EQ(got ? got->status : 0, 503);
      EXPECT_EQ(got ? got->fields.find("damper-verdict") : "", "switched_off");
      ++ended;
    });
  }
  stage.run_until([&] { return asked >= kRequests; });
  stage.run_for(20ms);
  const int before = ended;
  EXPECT_LT(before, kRequests / 10);  // A backoff is drawn from 0 on.
  stage.shared->dependency().switches().set(admit::Switch::retries, {.off = true});
  stage.run_until([&] { return stage.sink->under_way() == 0; });  // Not after 5 minutes.
  stage.run_until([&] { return ended == kRequests; });
  EXPECT_EQ(stage.records.back().verdict, Verdict::switched_off);
}

TEST(ProxiedRequest, WithoutAReplicaTheProxyAnswersItself) {
  Stage stage;
  stage.cluster.endpoints = {closed_url()};
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 502);
  EXPECT_EQ(got->fields.find("damper-verdict"), "attempts_spent");
  EXPECT_EQ(got->fields.find("damper-attempts"), "3");
  EXPECT_EQ(got->body, "damper: the last of the allowed attempts failed\n");
  EXPECT_EQ(stage.record().status, 502);
}

TEST(ProxiedRequest, AnAttemptThatTimesOutIsA504) {
  Stage stage;
  stage.route.settings.policy.call.per_try_timeout = 20ms;
  stage.route.settings.policy.call.max_attempts = 2;
  int cancelled = 0;
  Backend& backend = stage.add([](Visit&) {});
  backend.on_over = [&](Visit&) { ++cancelled; };
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 504);
  EXPECT_EQ(got->fields.find("damper-verdict"), "attempts_spent");
  EXPECT_EQ(backend.requests(), 2u);
  stage.run_until([&] { return cancelled == 2; });
}

TEST(ProxiedRequest, AGrpcClientHearsOfARefusalInItsOwnWords) {
  Stage stage;
  stage.client_protocol = Protocol::h2;
  stage.cluster.endpoints = {closed_url()};
  stage.begin();
  const auto got =
      stage.fetch(stage.make("POST", "/s/m", "x", {{"content-type", "application/grpc"}}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->fields.find("grpc-status"), "14");
  EXPECT_EQ(stage.record().grpc_status, 14);
  EXPECT_EQ(got->fields.find("content-type"), "application/grpc");
}

TEST(ProxiedRequest, WhatNoRouteIsForIsNotFound) {
  Stage stage;
  stage.route.match.prefix = "/shop";
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  const auto got = stage.fetch(stage.make("POST", "/other", std::string(100'000, 'x')));
  ASSERT_TRUE(got) << got.error().error.message();
  EXPECT_EQ(got->status, 404);
  EXPECT_EQ(stage.record().route, "");
  EXPECT_EQ(stage.get("/shop")->status, 200);
  EXPECT_EQ(backend.requests(), 1u);
}

TEST(ProxiedRequest, OverItsRateLimitARouteRefuses) {
  Stage stage;
  stage.route.rate_limit = admit::TokenBucketOptions{.rate_per_second = 0.1, .burst = 1};
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.get()->status, 200);
  const auto got = stage.get();
  EXPECT_EQ(got->status, 429);
  EXPECT_EQ(got->fields.find("damper-verdict"), "limited");
  EXPECT_GE(std::stoi(std::string(got->fields.find("retry-after").value_or("0"))), 9);
  EXPECT_EQ(backend.requests(), 1u);
  EXPECT_EQ(stage.record().verdict, Verdict::limited);
}

TEST(ProxiedRequest, TheGateLetsInHoldsAndTurnsAway) {
  Stage stage;
  http::AdmissionOptions admission;
  admission.limit.kind = admit::LimitKind::fixed;
  admission.limit.initial = admission.limit.min = admission.limit.max = 1;
  admission.longest_wait = 50ms;
  stage.route.admission = admission;
  Visit* first = nullptr;
  Backend& backend = stage.add([&](Visit& visit) {
    if (first == nullptr) {
      first = &visit;
    } else {
      visit.respond(200, "next");
    }
  });
  stage.begin();
  std::vector<int> statuses;
  std::vector<std::string> verdicts;
  const auto ask = [&] {
    stage.client().fetch(stage.make("GET", "/"), in(5s), [&](Result<http::Response> got) {
      statuses.push_back(got ? got->status : 0);
      if (got) verdicts.emplace_back(got->fields.find("damper-verdict").value_or(""));
    });
  };
  ask();
  stage.run_until([&] { return first != nullptr; });
  ask();
  stage.run_until([&] { return stage.admission->admission().depth() == 1; });
  EXPECT_EQ(backend.requests(), 1u);
  first->respond(200, "first");
  stage.run_until([&] { return statuses.size() == 2; });
  EXPECT_EQ(statuses, (std::vector<int>{200, 200}));
  // One that waits for too long, and one whose client goes away.
  first = nullptr;
  ask();
  stage.run_until([&] { return first != nullptr; });
  ask();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return stage.admission->admission().depth() == 2; });
  talker.cancel();
  stage.run_until([&] { return statuses.size() == 3; });
  EXPECT_EQ(statuses.back(), 503);
  EXPECT_EQ(verdicts.back(), "shed");
  EXPECT_EQ(stage.admission->admission().depth(), 0u);
  EXPECT_EQ(stage.admission->admission().in_flight(), 1);
  first->respond(200);
  (void)stage.record();
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
}

}  // namespace
}  // namespace damper::proxy
