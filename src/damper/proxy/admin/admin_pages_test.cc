#include "damper/proxy/admin/admin_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/observe/promtool_testing.h"
#include "damper/proxy/admin/admin_target_testing.h"

namespace damper::proxy {
namespace {

class Pages : public ::testing::Test {
 protected:
  http::Response ask(std::string method, std::string target, std::string body = "") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.authority = "127.0.0.1:9901";
    if (!body.empty()) request.fields.add("content-type", "application/json");
    request.body = std::move(body);
    return pages.answer(request);
  }
  static std::string type(const http::Response& response) {
    return std::string(response.fields.find("content-type").value_or(""));
  }

  FakeAdminTarget fake;
  AdminPages pages{fake, {}, run::now};
};

TEST_F(Pages, TheIndexLinksWhatCanBeLookedAt) {
  const http::Response page = ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(type(page), "text/html; charset=utf-8");
  for (const char* path :
       {"/healthz", "/readyz", "/metrics", "/policy", "/state", "/switches", "/events"}) {
    EXPECT_NE(page.body.find("<a href=\"" + std::string(path) + "\">"), std::string::npos) << path;
  }
  EXPECT_EQ(page.body.find("://"), std::string::npos);  // Nothing from outside.
}

TEST_F(Pages, AliveAndReadyAreTwoThings) {
  EXPECT_EQ(ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  fake.unready = "it drains";
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  EXPECT_EQ(ask("GET", "/readyz").body, "it drains\n");
}

TEST_F(Pages, MetricsAreWhatPrometheusReads) {
  fake.metrics.counter("damper_things_total", "Things.", {{"a", "b"}}).add();
  const http::Response page = ask("GET", "/metrics");
  EXPECT_EQ(type(page), observe::kExpositionType);
  EXPECT_NE(page.body.find("damper_things_total{a=\"b\"} 1\n"), std::string::npos);
  EXPECT_NE(page.body.find("damper_admin_refused_total{reason=\"token\"} 0\n"), std::string::npos);
  EXPECT_EQ(observe::promtool(page.body), "");
}

TEST_F(Pages, PolicyAndStateAreShown) {
  EXPECT_EQ(ask("GET", "/policy").body, "routes: []\n");
  const http::Response state = ask("GET", "/state?pretty");
  EXPECT_EQ(type(state), "application/json");
  EXPECT_EQ(state.body.find(R"({"version":7,"loops":2,"loops_answered":2,"up_seconds":10800)"), 0U)
      << state.body;
}

TEST_F(Pages, ASwitchIsFlippedWithAReasonAndAnEnd) {
  const http::Response after =
      ask("PUT", "/switches",
          R"({"scope":"route/checkout","switch":"retries","off":true,"reason":"db","for":"30m"})");
  EXPECT_EQ(after.status, 200) << after.body;
  EXPECT_NE(after.body.find(R"({"scope":"route/checkout","retries":{"off":true,"reason":"db",)"
                            R"("remaining_seconds":1)"),
            std::string::npos)
      << after.body;  // 1799.99...
  const std::string on =
      ask("PUT", "/switches", R"({"scope":"route/checkout","switch":"retries","off":false})").body;
  EXPECT_EQ(on, ask("GET", "/switches").body);
  EXPECT_EQ(ask("GET", "/switches").body.find("db"), std::string::npos);
}

TEST_F(Pages, AnOrderThatIsWrongChangesNothing) {
  const std::string before = ask("GET", "/switches").body;
  EXPECT_EQ(ask("PUT", "/switches", R"({"switch":"retries","off":true})").status, 400);
  EXPECT_EQ(ask("PUT", "/switches", "nonsense").status, 400);
  const http::Response nowhere =
      ask("PUT", "/switches", R"({"scope":"route/x","switch":"retries","off":true,"reason":"y"})");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(nowhere.body, "there is no route/x\n");
  EXPECT_EQ(ask("GET", "/switches").body, before);
}

TEST_F(Pages, AReloadSaysItsVersionOrWhyNot) {
  EXPECT_EQ(ask("POST", "/reload").body, "{\"version\":8}\n");
  fake.refusal = {.sentence = "damper.yaml:3: unknown key"};
  EXPECT_EQ(ask("POST", "/reload").status, 400);
  EXPECT_EQ(ask("POST", "/reload").body, "damper.yaml:3: unknown key\n");
  fake.refusal->conflict = true;
  EXPECT_EQ(ask("POST", "/reload").status, 409);
}

TEST_F(Pages, WhatIsNotThereIsListed) {
  const http::Response page = ask("GET", "/%0anope\n\"");
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.body,
            "there is no \"/%0anope\\n\\\"\" here; there are / /healthz /readyz /metrics /policy "
            "/state /switches /breakers /reload /events\n");
}

TEST_F(Pages, AWrongMethodIsToldTheRightOnes) {
  const http::Response switches = ask("DELETE", "/switches");
  EXPECT_EQ(switches.status, 405);
  EXPECT_EQ(switches.fields.find("allow"), "GET, HEAD, PUT");
  EXPECT_EQ(ask("GET", "/reload").fields.find("allow"), "POST");
  EXPECT_EQ(ask("POST", "/events").fields.find("allow"), "GET");
  EXPECT_EQ(ask("HEAD", "/state").status, 200);
  EXPECT_EQ(fake.reloads, 0);
}

TEST_F(Pages, WhoIsTurnedAwayChangesNothingAndIsCounted) {  // (1)
  http::Request request;
  request.method = "POST";
  request.target = "/reload";
  request.authority = "evil.example";
  EXPECT_EQ(pages.answer(request).status, 403);
  request.authority = "localhost";
  request.fields.add("origin", "http://evil.example");
  EXPECT_EQ(pages.answer(request).status, 403);
  EXPECT_EQ(fake.reloads, 0);
  const std::string metrics = fake.metrics.expose();
  EXPECT_NE(metrics.find("damper_admin_refused_total{reason=\"host\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("damper_admin_refused_total{reason=\"origin\"} 1\n"), std::string::npos);
}

TEST_F(Pages, NoAnswerIsForAnotherOrigin) {  // (2)
  for (const char* target : {"/", "/state", "/nope", "/metrics"}) {
    const http::Response page = ask("GET", target);
    EXPECT_EQ(page.fields.find("cache-control"), "no-store");
    EXPECT_EQ(page.fields.find("x-content-type-options"), "nosniff");
    EXPECT_EQ(page.fields.find("x-frame-options"), "DENY");
    EXPECT_FALSE(page.fields.find("access-control-allow-origin"));
  }
}

TEST_F(Pages, WhatThrowsIsAFailureOfThatPageAlone) {
  fake.before_state = [] { throw std::runtime_error("no\nluck"); };
  const http::Response page = ask("GET", "/state");
  EXPECT_EQ(page.status, 500);
  EXPECT_EQ(page.body.find("this failed: no"), 0U);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Pages, WhatMayWaitHasAThreadOfItsOwn) {
  const auto thread = [](std::string method, std::string target) {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    return AdminPages::thread_of(request);
  };
  EXPECT_EQ(thread("GET", "/healthz"), AdminThread::loop);
  EXPECT_EQ(thread("GET", "/nope"), AdminThread::loop);
  EXPECT_EQ(thread("GET", "/state"), AdminThread::reads);
  EXPECT_EQ(thread("HEAD", "/state?x"), AdminThread::reads);
  EXPECT_EQ(thread("PUT", "/switches"), AdminThread::flips);
  EXPECT_EQ(thread("GET", "/switches"), AdminThread::flips);
  EXPECT_EQ(thread("POST", "/reload"), AdminThread::reloads);
}

}  // namespace
}  // namespace damper::proxy
