#include "damper/proxy/process/proxy_admin.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "damper/http/server/server_testing.h"
#include "damper/http/server/token_testing.h"
#include "damper/observe/promtool_testing.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/admin/admin_pages.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/admin/state_json.h"
#include "damper/proxy/process/listen_fds.h"
#include "damper/proxy/process/test_proxy_testing.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

ProxyConfig load(const std::string& text) {
  auto config = load_proxy(text, "test");
  EXPECT_TRUE(config) << config.error().sentence;
  return *std::move(config);
}

class ProxyAdminTest : public testing::Test {
 protected:
  void start() {
    ASSERT_EQ(admin_.bind(*proxy_->config(), std::nullopt), std::nullopt);
    ASSERT_EQ(admin_.start(*proxy_, feed_, [] { return std::nullopt; }), std::nullopt);
  }
  // A configuration that differs by its token file.
  [[nodiscard]] ProxyConfig with_token(const std::string& file) const {
    ProxyConfig next = *proxy_->config();
    next.admin->token_file = file;
    return next;
  }
  [[nodiscard]] bool may_change(const http::TokenFile& token) const {
    auto client = AdminClient::open("127.0.0.1:" + std::to_string(*admin_.port()), token.path());
    return client && client->post("/reload");
  }

  const http::TokenFile first_{"0123456789abcdef"};
  const http::TokenFile second_{"fedcba9876543210"};
  const std::unique_ptr<Proxy> proxy_ = [this] {
    ProxyConfig config = load(
        "listeners: {web: {address: ':0'}}\nthreads: 1\n"
        "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\n");
    config.admin = AdminConfig{.port = 0, .token_file = first_.path()};
    return start_proxy(std::move(config));
  }();
  EventFeed feed_;
  ProxyAdmin admin_;
};

TEST_F(ProxyAdminTest, AnotherTokenFileCountsFromTheNextRequestOn) {
  start();
  EXPECT_TRUE(may_change(first_));
  EXPECT_FALSE(may_change(second_));
  const ProxyConfig next = with_token(second_.path());
  EXPECT_EQ(admin_.find_error(next), std::nullopt);
  EXPECT_EQ(admin_.use(next), std::nullopt);
  EXPECT_FALSE(may_change(first_));
  EXPECT_TRUE(may_change(second_));
}

TEST_F(ProxyAdminTest, AnotherTokenFileThatCannotBeReadChangesNothing) {
  start();
  const auto why = admin_.find_error(with_token("/nowhere/token"));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("/nowhere/token"), std::string::npos) << *why;
  EXPECT_TRUE(admin_.use(with_token("/nowhere/token")));  // It went away after it was looked at.
  EXPECT_TRUE(may_change(first_));
  first_.remove();  // The one in force: whatever else is reloaded need not wait for it.
  EXPECT_EQ(admin_.find_error(with_token(first_.path())), std::nullopt);
}

TEST_F(ProxyAdminTest, WithoutAdminPagesNothingIsDone) {
  ProxyConfig none = *proxy_->config();
  none.admin.reset();
  EXPECT_EQ(admin_.bind(none, std::nullopt), std::nullopt);
  EXPECT_EQ(admin_.start(*proxy_, feed_, {}), std::nullopt);
  EXPECT_EQ(admin_.port(), std::nullopt);
  EXPECT_EQ(admin_.fd(), std::nullopt);
  EXPECT_EQ(admin_.find_error(with_token("/nowhere/token")), std::nullopt);
  EXPECT_EQ(admin_.use(with_token("/nowhere/token")), std::nullopt);
}

TEST_F(ProxyAdminTest, TheSocketOfAnotherProcessIsSharedUntilItIsClosed) {
  ASSERT_EQ(admin_.bind(*proxy_->config(), std::nullopt), std::nullopt);
  const std::uint16_t port = *admin_.port();
  {
    ProxyAdmin next;
    ASSERT_EQ(next.bind(*proxy_->config(), admin_.fd()), std::nullopt);
    EXPECT_EQ(next.port(), port);
    admin_.close();
    EXPECT_TRUE(is_taken({"127.0.0.1", port}));
  }
  EXPECT_FALSE(is_taken({"127.0.0.1", port}));
}

TEST_F(ProxyAdminTest, AReloadIsTheOwners) {
  std::optional<ReloadRefusal> refusal;
  EXPECT_EQ(admin_.start(*proxy_, feed_, [&refusal] { return refusal; }), std::nullopt);
  EXPECT_EQ(*admin_.reload(), 1U);
  refusal = {.sentence = "damper.yaml: no"};
  EXPECT_EQ(admin_.reload().error().sentence, "damper.yaml: no");
  EXPECT_EQ(admin_.start(*proxy_, feed_, {}), std::nullopt);
  EXPECT_TRUE(admin_.reload().error().conflict);
}

TEST(ProxyAdmin, ShowsAndControlsTheProxy) {
  EventFeed feed;
  auto config = load_proxy("", "flags", {.listen = {":0"}, .to = {"http://127.0.0.1:9"}});
  ASSERT_TRUE(config) << config.error().sentence;
  const auto proxy = start_proxy(*config, &feed);
  ProxyAdmin admin;
  ASSERT_EQ(admin.start(*proxy, feed, {}), std::nullopt);
  AdminPages pages(admin, {}, run::now);
  const auto ask = [&](std::string method, std::string target, std::string body = "") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.authority = "localhost";
    request.fields.add("content-type", "application/json");
    request.body = std::move(body);
    return pages.answer(request);
  };
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  const std::string metrics = ask("GET", "/metrics").body;
  EXPECT_EQ(observe::promtool(metrics), "");
  EXPECT_NE(metrics.find("\ndamper_process_retry_budget_fill_ratio 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("\ndamper_cluster_retry_budget_fill_ratio{cluster="), std::string::npos);
  const std::string policy = ask("GET", "/policy").body;
  EXPECT_TRUE(load_proxy(policy, "effective")) << policy;

  const auto state = parse_state(ask("GET", "/state").body);
  ASSERT_TRUE(state) << state.error();
  EXPECT_EQ(state->version, 1U);
  EXPECT_GT(state->loops, 0U);
  EXPECT_EQ(state->answered, state->loops);
  EXPECT_EQ(state->budget.fill, 1);
  ASSERT_EQ(state->routes.size(), 1U);
  ASSERT_EQ(state->scopes.size(), 3U);  // the process, the cluster, the route
  for (const ScopeState& scope : state->scopes) {
    const SwitchOrder order{.scope = scope.scope,
                            .which = admit::Switch::retries,
                            .off = true,
                            .reason = "why of " + scope.scope.text(),
                            .length = std::chrono::minutes(30)};
    const std::uint64_t before = feed.next();
    const http::Response after = ask("PUT", "/switches", print_order(order));
    EXPECT_EQ(after.status, 200) << after.body;
    EXPECT_NE(after.body.find("why of " + scope.scope.text()), std::string::npos) << after.body;
    const auto told = feed.after(before - 1);  // Every flip is an event.
    ASSERT_EQ(told.size(), 1U) << scope.scope.text();
    EXPECT_EQ(told[0].kind, engine::EventKind::switch_flipped);
    EXPECT_NE(told[0].json.find("why of " + scope.scope.text()), std::string::npos) << told[0].json;
    EXPECT_NE(told[0].json.find("\"length\":\"30m\""), std::string::npos) << told[0].json;
    EXPECT_EQ(ask("PUT", "/switches", print_order({.scope = scope.scope})).status, 200);
  }
  EXPECT_EQ(ask("PUT", "/switches", print_order({.scope = SwitchScope::route("nope")})).status,
            404);
  EXPECT_EQ(ask("POST", "/reload").status, 409);
  proxy->drain(std::chrono::seconds(1));
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST(ProxyAdmin, ForcesBreakersOfRoutesAndReplicas) {
  EventFeed feed;
  const auto proxy = start_proxy(load("listeners: {web: {address: ':0'}}\nthreads: 1\n"
                                      "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\n"
                                      "routes: {a: {circuit_breaker: on}}\n"),
                                 &feed);
  ProxyAdmin admin;
  ASSERT_EQ(admin.start(*proxy, feed, {}), std::nullopt);
  AdminPages pages(admin, {}, run::now);
  const auto put = [&](std::string body) {
    http::Request request;
    request.method = "PUT";
    request.target = "/breakers";
    request.authority = "localhost";
    request.fields.add("content-type", "application/json");
    request.body = std::move(body);
    return pages.answer(request);
  };
  BreakerOrder order{.scope = SwitchScope::route("a"),
                     .force = admit::BreakerForce::open,
                     .reason = "db failover",
                     .length = std::chrono::minutes(30)};
  const std::uint64_t before = feed.next();
  http::Response answer = put(print_breaker_order(order));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("force":"open","reason":"db failover","remaining_seconds":1)"),
            std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("own_state":"closed")"), std::string::npos) << answer.body;
  order.scope = SwitchScope::cluster("c");
  order.replica = "127.0.0.1:9";
  answer = put(print_breaker_order(order));
  EXPECT_NE(answer.body.find(R"("own_state":null)"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("scope":"cluster/c","replica":"http://127.0.0.1:9")"),
            std::string::npos)
      << answer.body;
  const auto told = feed.after(before - 1);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0].json.find(R"("key":"a","length":"30m","detail":"open: db failover")"),
            std::string::npos)
      << told[0].json;
  EXPECT_NE(told[1].json.find(R"("key":"cluster/c/http://127.0.0.1:9")"), std::string::npos)
      << told[1].json;
  const auto state = parse_state(state_json(admin.state()));
  ASSERT_TRUE(state) << state.error();
  ASSERT_EQ(state->forced.size(), 2U);
  EXPECT_EQ(state->forced[1].replica, "http://127.0.0.1:9");
  EXPECT_EQ(state->forced[1].status.force, admit::BreakerForce::open);
  EXPECT_EQ(state->forced[1].status.reason, "db failover");

  // A refusal is one sentence, and changes nothing.
  answer = put(R"({"scope":"route/a","force":"open"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body,
            "reason is missing: the next person on duty has to know why the breaker is forced\n");
  answer = put(R"({"scope":"route/nope","force":"none"})");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "there is no scope \"route/nope\"\n");
  EXPECT_EQ(admin.forced().size(), 2U);
  EXPECT_EQ(put(R"({"scope":"route/a","force":"none"})").status, 200);
  EXPECT_EQ(admin.forced().size(), 1U);
}

TEST(ProxyAdmin, AReloadIsAnEventOfTheRoutesThatItChangesAlone) {
  const auto with_timeout = [](const std::string& timeout) {
    return load(
        "listeners: {web: {address: ':0'}}\nthreads: 1\n"
        "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\n"
        "routes: {a: {match: {prefix: /a}, timeout: " +
        timeout + "}, b: {match: {prefix: /b}}, rest: {circuit_breaker: on}}\n");
  };
  EventFeed feed;
  const auto proxy = start_proxy(with_timeout("2s"), &feed);
  const std::uint64_t before = feed.next();
  EXPECT_EQ(proxy->reload(with_timeout("2s")), std::nullopt);
  EXPECT_EQ(feed.next(), before);
  EXPECT_EQ(proxy->reload(with_timeout("3s")), std::nullopt);
  const auto told = feed.after(before - 1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].json.find("\"key\":\"a\""), std::string::npos) << told[0].json;
}

// Keeps the loop that reports a first failure until it is let go.
class StuckSink final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override {
    if (event.kind != engine::EventKind::first_failure) return;
    stuck.set_value();
    free.wait();
  }
  std::promise<void> stuck;
  std::promise<void> go_on;
  std::shared_future<void> free = go_on.get_future().share();
};

TEST(ProxyAdmin, ALoopThatIsStuckDelaysNoFlipAndIsMissingInTheState) {
  StuckSink sink;
  const auto proxy = start_proxy(load("listeners: {web: {address: ':0'}}\nthreads: 1\n"
                                      "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\n"
                                      "routes: {a: {timeout: 1s}}\n"),
                                 &sink);
  EventFeed feed;
  ProxyAdmin admin;
  ASSERT_EQ(admin.start(*proxy, feed, {}), std::nullopt);
  http::RawClient client(proxy->port("web"));
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(sink.stuck.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);

  const Instant before = run::now();
  AdminPages pages(admin, {}, run::now);
  http::Request order;
  order.method = "PUT";
  order.target = "/switches";
  order.authority = "localhost";
  order.fields.add("content-type", "application/json");
  order.body = print_order({.scope = SwitchScope::route("a"),
                            .which = admit::Switch::retries,
                            .off = true,
                            .reason = "storm"});
  const http::Response answer = pages.answer(order);
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("storm"), std::string::npos) << answer.body;
  EXPECT_LT(between(before, run::now()),
            std::chrono::milliseconds(900));  // A loop's patience: 1 s.

  const ProxyState state = admin.state();
  EXPECT_EQ(state.loops, 1U);
  EXPECT_EQ(state.answered, 0U);
  sink.go_on.set_value();
}

}  // namespace
}  // namespace damper::proxy
