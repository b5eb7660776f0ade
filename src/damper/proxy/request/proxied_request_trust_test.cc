#include "damper/proxy/request/proxied_request_testing.h"

// What is believed of a client, by the listener's trust; and what of a replica.
namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using Visit = Backend::Visit;

TEST(ProxiedRequestTrust, TrapS1_TheDeadlineOfAStrangerIsNotBelieved) {
  for (const bool trusted : {true, false}) {
    Stage stage;
    stage.trust = trusted ? Trust::all() : Trust();
    Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    const auto got = stage.get("/", {{"x-request-deadline", "0"}});
    EXPECT_EQ(got->status, trusted ? 504 : 200);
    EXPECT_EQ(backend.requests(), trusted ? 0u : 1u);
    (void)stage.record();
  }
}

TEST(ProxiedRequestTrust, AGrpcTimeoutOfAStrangerOnlyShortensItsOwnTime) {
  Stage stage;
  stage.trust = Trust();
  stage.route.settings.policy.call.timeout = 5s;
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  ASSERT_EQ(stage.get("/", {{"grpc-timeout", "2S"}})->status, 200);
  EXPECT_LE(std::stoi(backend.visits.back().field("x-request-deadline")), 2000);
  ASSERT_EQ(stage.get("/", {{"grpc-timeout", "1H"}})->status, 200);
  EXPECT_LE(std::stoi(backend.visits.back().field("x-request-deadline")), 5000);
  EXPECT_GT(std::stoi(backend.visits.back().field("x-request-deadline")), 2000);
}

TEST(ProxiedRequestTrust, TrapS1_TrailersSayNothingThatAHeadMayNotSay) {
  Stage stage;
  stage.trust = Trust::all();
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  Talker talker(stage.client());
  talker.trailers = {{"x-sum", "17"},           {"X-Forwarded-For", "9.9.9.9"},
                     {"x_real_ip", "9.9.9.9"},  {"damper-criticality", "critical_plus"},
                     {"x-envoy-internal", "1"}, {"x-request-deadline", "5"}};
  talker.say("body", true);
  talker.open(stage.url, stage.make("PUT", "/"));
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(backend.visits.back().trailers.find("x-sum"), "17");
  EXPECT_EQ(backend.visits.back().trailers.size(), 1U);
}

// A replica that needs longer than a stranger waits has not failed, whatever the deadline is.
TEST(ProxiedRequestTrust, TrapS1_AStrangersDeadlineIsBilledToNobody) {
  for (const char* const timeout : {"20m", "190m"}) {
    Stage stage;
    stage.trust = Trust();
    stage.route.settings.policy.call.timeout = 200ms;
    stage.route.settings.policy.call.max_attempts = 1;
    stage.route.settings.policy.breaker = {.consecutive_failures = 1};
    Backend& backend = stage.add();
    stage.begin();
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(stage.get("/", {{"grpc-timeout", timeout}})->status, 504) << i;
    }
    EXPECT_EQ(backend.requests(), 10U);
    EXPECT_EQ(stage.shared->dependency().breaker().state(stage.loop.now()),
              admit::BreakerState::closed);
  }
}

TEST(ProxiedRequestTrust, TrapS1_WhatAStrangerMayNotSayChoosesNoRouteAndNoKey) {
  for (const bool trusted : {true, false}) {
    Stage stage;
    stage.trust = trusted ? Trust::all() : Trust();
    stage.route.match.headers = {{.name = "x-envoy-internal", .value = "true"}};
    stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    EXPECT_EQ(stage.get("/", {{"x-envoy-internal", "true"}})->status, trusted ? 200 : 404);
  }
  for (const bool trusted : {true, false}) {
    Stage stage;
    stage.trust = trusted ? Trust::all() : Trust();
    stage.route.client_rate_limit = {
        .rates = {.bucket = {.rate_per_second = 0.001, .burst = 1}, .max_clients = 16},
        .header = "x-real-ip"};
    stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    EXPECT_EQ(stage.get("/", {{"x-real-ip", "1.1.1.1"}})->status, 200);
    EXPECT_EQ(stage.get("/", {{"x-real-ip", "2.2.2.2"}})->status, trusted ? 200 : 429);
  }
}

TEST(ProxiedRequestTrust, AStrangerSwitchesNoRetriesOff) {
  for (const bool trusted : {true, false}) {
    Stage stage;
    stage.trust = trusted ? Trust::all() : Trust();
    Backend& backend = stage.add(
        [](Visit& visit) { visit.respond(visit.field("damper-attempt") == "2" ? 200 : 503); });
    stage.begin();
    const auto got = stage.get("/", {{"damper-retry-owner", "edge"}, {"damper-attempt", "1"}});
    EXPECT_EQ(got->status, trusted ? 503 : 200);
    EXPECT_EQ(backend.requests(), trusted ? 1u : 2u);
    EXPECT_EQ(backend.visits.back().field("damper-retry-owner"), trusted ? "edge" : "shop");
  }
}

// A full admission sheds the least critical: others first, unless a stranger claims to be more.
TEST(ProxiedRequestTrust, TrapS1_AStrangerIsAtMostAsCriticalAsTheDefault) {
  for (const bool trusted : {true, false}) {
    Stage stage;
    stage.trust = trusted ? Trust::all() : Trust();
    http::AdmissionOptions admission;
    admission.limit.kind = admit::LimitKind::fixed;
    admission.limit.initial = admission.limit.min = admission.limit.max = 1;
    admission.queue.capacity = 1;
    stage.route.admission = admission;
    Visit* first = nullptr;
    stage.add([&](Visit& visit) {
      if (std::exchange(first, &visit) != nullptr) visit.respond(200);
    });
    stage.begin();
    Talker runs(stage.client());
    runs.open(stage.url, stage.make("GET", "/"));
    stage.run_until([&] { return first != nullptr; });
    Talker waits(stage.client());
    waits.open(stage.url, stage.make("GET", "/"));
    stage.run_until([&] { return stage.admission->admission().depth() == 1; });
    Talker claims(stage.client());
    claims.open(stage.url, stage.make("GET", "/", {}, {{"damper-criticality", "critical_plus"}}));
    Talker& shed = trusted ? waits : claims;
    stage.run_until([&] { return shed.answered; });
    EXPECT_EQ(shed.response.status, 503);
    EXPECT_FALSE((trusted ? claims : waits).answered);
    first->respond(200);
    (void)stage.record();
  }
}

TEST(ProxiedRequestTrust, WhatServicesBelieveIsOurs) {
  Stage stage;
  stage.trust = Trust();
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  ASSERT_EQ(stage
                .get("/", {{"x-forwarded-for", "1.1.1.1"},
                           {"x-forwarded-proto", "https"},
                           {"x-forwarded-client-cert", "spoof"},
                           {"forwarded", "for=1.1.1.1"},
                           {"x-real-ip", "1.1.1.1"}})
                ->status,
            200);
  const Visit& visit = backend.visits.back();
  EXPECT_EQ(visit.field("x-forwarded-for"), "127.0.0.1");
  EXPECT_EQ(visit.field("x-forwarded-proto"), "http");
  EXPECT_EQ(visit.field("x-forwarded-client-cert"), "-");
  EXPECT_EQ(visit.field("forwarded"), "-");
  EXPECT_EQ(visit.field("x-real-ip"), "-");
}

TEST(ProxiedRequestTrust, AReplicaCannotWriteOurFields) {
  Stage stage;
  stage.client_protocol = http::Protocol::h2;
  stage.add([](Visit& visit) {
    visit.hint(103, {{"link", "</a>"}, {"damper-verdict", "shed"}});
    visit.respond(200, "x", {{"damper-verdict", "shed"}, {"damper-attempts", "9"}},
                  {{"damper-verdict", "shed"}, {"last", "1"}});
  });
  stage.begin();
  const auto got = stage.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->fields.find("damper-verdict"), std::nullopt);
  EXPECT_EQ(got->fields.find("damper-attempts"), std::nullopt);
  EXPECT_EQ(got->trailers.find("damper-verdict"), std::nullopt);
  EXPECT_EQ(got->trailers.find("last"), "1");
}

TEST(ProxiedRequestTrust, ARecordNamesTheClientAsFarAsItsProxiesAreTrusted) {
  const http::FieldList fields = {{"x-forwarded-for", "8.8.8.8, 9.9.9.9"},
                                  {"x-forwarded-for", "127.0.0.2"},
                                  {"user-agent", "curl"},
                                  {"x-request-id", "theirs"}};
  struct Case {
    Trust trust;
    std::string client;
    bool believes_id;
  };
  const std::vector<std::string> loopback = {"127.0.0.0/8"};
  for (const Case& one :
       {Case{Trust(), "127.0.0.1", false}, Case{Trust::of(loopback, false), "9.9.9.9", true},
        Case{Trust::all(), "8.8.8.8", true}}) {
    Stage stage;
    stage.trust = one.trust;
    Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    ASSERT_EQ(stage.get("/", fields)->status, 200);
    const Recorded& record = stage.record();
    EXPECT_EQ(record.client, one.client);
    EXPECT_EQ(record.protocol, "HTTP/1.1");
    EXPECT_EQ(record.user_agent, "curl");
    EXPECT_EQ(record.request_id == "theirs", one.believes_id);
    EXPECT_EQ(backend.visits.back().field("x-request-id"), record.request_id);
  }
}

TEST(ProxiedRequestTrust, ARequestWithoutAnIdGetsOneForAllItsAttempts) {
  Stage stage;
  stage.client_protocol = http::Protocol::h2;
  Backend& backend = stage.add(
      [](Visit& visit) { visit.respond(visit.field("damper-attempt") == "2" ? 200 : 503); });
  stage.begin();
  ASSERT_EQ(stage.get()->status, 200);
  const std::string id = stage.record().request_id;
  EXPECT_EQ(stage.record().protocol, "HTTP/2");
  EXPECT_EQ(id.size(), 36u);
  EXPECT_EQ(backend.visits.front().field("x-request-id"), id);
  EXPECT_EQ(backend.visits.back().field("x-request-id"), id);
  ASSERT_EQ(stage.get()->status, 200);
  EXPECT_NE(stage.record().request_id, id);
}

TEST(ProxiedRequestTrust, TheServiceGetsTheIdThatIsLogged) {
  const std::string longest(256, 'x');
  struct Case {
    std::vector<std::string> ids;
    std::string used;  // empty: a new one
  };
  for (const Case& one :
       {Case{{""}, ""}, Case{{"a", "b"}, "a"}, Case{{"", "b"}, ""}, Case{{longest}, longest},
        Case{{longest + "x"}, ""}, Case{{"a\xff"}, ""}}) {
    Stage stage;
    stage.trust = Trust::all();
    Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    http::FieldList fields;
    for (const std::string& id : one.ids) fields.add("x-request-id", id);
    ASSERT_EQ(stage.get("/", fields)->status, 200);
    const std::string& id = stage.record().request_id;
    EXPECT_EQ(one.used.empty() ? id.size() : 36U, 36U) << id;
    EXPECT_EQ(one.used.empty() ? id : one.used, id);
    std::vector<std::string> got;
    for (const http::Field& field : backend.visits.back().request.fields.view()) {
      if (http::same_name(field.name, "x-request-id")) got.emplace_back(field.value);
    }
    EXPECT_EQ(got, std::vector<std::string>{id});
  }
}

TEST(ProxiedRequestTrust, ARequestThatTheCodecRefusesIsRecordedWithItsClient) {
  Stage stage;
  stage.limits.max_head_bytes = 2000;
  stage.add();
  stage.begin();
  const auto got = stage.get("/", {{"a", std::string(3000, 'x')}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 431);
  EXPECT_EQ(stage.refused, std::vector<std::string>{"431 head_too_large 127.0.0.1 HTTP/1.1"});
  EXPECT_TRUE(stage.records.empty());
}

}  // namespace
}  // namespace damper::proxy
