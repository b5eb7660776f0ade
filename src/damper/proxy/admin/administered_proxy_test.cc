#include "damper/proxy/admin/administered_proxy.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/server/server_testing.h"
#include "damper/observe/promtool_testing.h"
#include "damper/proxy/admin/admin_pages.h"
#include "damper/proxy/admin/admin_target_testing.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/admin/state_json.h"
#include "damper/proxy/admin/switch_order.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {
namespace {

// A Proxy without loops.
class FakeProxy final : public Proxy {
 public:
  FakeProxy() {
    auto loaded = load_proxy("", "flags", {.listen = {":0"}, .to = {"http://127.0.0.1:9"}});
    EXPECT_TRUE(loaded);
    config_ = std::make_shared<const ProxyConfig>(*std::move(loaded));
  }
  std::optional<std::string> reload(const ProxyConfig&) override { return std::nullopt; }
  void drain(Duration) override {}
  [[nodiscard]] std::shared_ptr<const ProxyConfig> config() const override { return config_; }
  [[nodiscard]] std::uint64_t version() const override { return shown.version; }
  ProxyState state() override { return shown; }
  observe::Registry& registry() override { return metrics; }
  [[nodiscard]] std::vector<InheritedSocket> sockets() const override { return {}; }
  [[nodiscard]] std::uint16_t port(std::string_view) const override { return 0; }
  std::optional<std::string> flip(std::string_view scope, admit::Switch,
                                  const admit::SwitchSetting& setting) override {
    flipped = std::string(scope) + ' ' + std::string(setting.reason);
    return std::nullopt;
  }

  [[nodiscard]] std::vector<ScopeState> switches() const override { return shown.scopes; }

  ProxyState shown = incident();
  observe::Registry metrics;
  std::string flipped;

 private:
  std::shared_ptr<const ProxyConfig> config_;
};

TEST(AdministeredProxy, ShowsTheProxy) {
  FakeProxy proxy;
  AdministeredProxy target(proxy, {});
  EXPECT_EQ(target.state().version, 7U);
  EXPECT_EQ(&target.registry(), &proxy.metrics);
  EXPECT_EQ(target.policy(), print_proxy(*proxy.config()));
  EXPECT_EQ(target.flip("route/x", admit::Switch::retries, {.off = true, .reason = "y"}),
            std::nullopt);
  EXPECT_EQ(proxy.flipped, "route/x y");
}

TEST(AdministeredProxy, IsReadyUnlessItDrainsOrHasNoConfiguration) {
  FakeProxy proxy;
  AdministeredProxy target(proxy, {});
  EXPECT_EQ(target.find_unready(), std::nullopt);
  proxy.shown.draining = true;
  EXPECT_EQ(target.find_unready(), "it drains: 41 under way");
  proxy.shown.version = 0;
  EXPECT_EQ(target.find_unready(), "there is no configuration yet");
}

TEST(AdministeredProxy, AReloadIsTheShells) {
  FakeProxy proxy;
  std::optional<ReloadRefusal> refusal;
  AdministeredProxy target(proxy, [&refusal] { return refusal; });
  EXPECT_EQ(*target.reload(), 7U);
  refusal = {.sentence = "damper.yaml: no"};
  EXPECT_EQ(target.reload().error().sentence, "damper.yaml: no");
  AdministeredProxy without(proxy, {});
  EXPECT_TRUE(without.reload().error().conflict);
}

TEST(AdministeredProxy, TheConfigurationSaysWhereItListens) {
  const AdminOptions options =
      admin_options({.address = "10.0.0.1", .port = 99, .token_file = "/t"});
  EXPECT_EQ(options.address, "10.0.0.1");
  EXPECT_EQ(options.port, 99);
  EXPECT_EQ(options.token_file, "/t");
}

// A real one, with nobody behind it.
TEST(AdministeredProxy, ARealProxyIsShownAndSteered) {
  EventFeed feed;
  auto config = load_proxy("", "flags", {.listen = {":0"}, .to = {"http://127.0.0.1:9"}});
  ASSERT_TRUE(config) << config.error().sentence;
  auto proxy = Proxy::start(*config, {.events = &feed});
  ASSERT_TRUE(proxy) << proxy.error();
  AdministeredProxy target(**proxy, {});
  AdminPages pages(target, {}, run::now);
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
  ASSERT_EQ(state->scopes.size(), 3U);  // everything, the cluster, the route
  for (const ScopeState& scope : state->scopes) {
    const SwitchOrder order{.scope = scope.scope,
                            .which = admit::Switch::retries,
                            .off = true,
                            .reason = "why of " + scope.scope,
                            .length = std::chrono::minutes(30)};
    const std::uint64_t before = feed.next();
    const http::Response after = ask("PUT", "/switches", print_order(order));
    EXPECT_EQ(after.status, 200) << after.body;
    EXPECT_NE(after.body.find("why of " + scope.scope), std::string::npos) << after.body;
    const auto told = feed.after(before - 1);  // Every flip is an event.
    ASSERT_EQ(told.size(), 1U) << scope.scope;
    EXPECT_EQ(told[0].kind, engine::EventKind::switch_flipped);
    EXPECT_NE(told[0].json.find("why of " + scope.scope), std::string::npos) << told[0].json;
    EXPECT_NE(told[0].json.find("\"length\":\"30m\""), std::string::npos) << told[0].json;
    EXPECT_EQ(ask("PUT", "/switches", print_order({.scope = scope.scope})).status, 200);
  }
  EXPECT_EQ(ask("PUT", "/switches", print_order({.scope = "route/nope"})).status, 404);
  EXPECT_EQ(ask("POST", "/reload").status, 409);
  (*proxy)->drain(std::chrono::seconds(1));
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST(AdministeredProxy, AReloadIsAnEventOfTheRoutesThatItChangesAlone) {
  const auto load = [](const std::string& timeout) {
    return load_proxy(
        "listeners: {web: {address: ':0'}}\nthreads: 1\n"
        "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\n"
        "routes: {a: {match: {prefix: /a}, timeout: " +
            timeout + "}, b: {match: {prefix: /b}}, rest: {circuit_breaker: on}}\n",
        "test");
  };
  const auto first = load("2s");
  ASSERT_TRUE(first) << first.error().sentence;
  EventFeed feed;
  auto proxy = Proxy::start(*first, {.events = &feed});
  ASSERT_TRUE(proxy) << proxy.error();
  const std::uint64_t before = feed.next();
  EXPECT_EQ((*proxy)->reload(*load("2s")), std::nullopt);
  EXPECT_EQ(feed.next(), before);
  EXPECT_EQ((*proxy)->reload(*load("3s")), std::nullopt);
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

TEST(AdministeredProxy, ALoopThatIsStuckDelaysNoFlipAndIsMissingInTheState) {
  const auto config = load_proxy(
      "listeners: {web: {address: ':0'}}\nthreads: 1\n"
      "clusters: {c: {endpoints: [http://127.0.0.1:9]}}\nroutes: {a: {timeout: 1s}}\n",
      "test");
  ASSERT_TRUE(config) << config.error().sentence;
  StuckSink sink;
  auto proxy = Proxy::start(*config, {.events = &sink});
  ASSERT_TRUE(proxy) << proxy.error();
  AdministeredProxy target(**proxy, {});
  http::RawClient client((*proxy)->port("web"));
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(sink.stuck.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);

  const Instant before = run::now();
  AdminPages pages(target, {}, run::now);
  http::Request order;
  order.method = "PUT";
  order.target = "/switches";
  order.authority = "localhost";
  order.fields.add("content-type", "application/json");
  order.body = print_order(
      {.scope = "route/a", .which = admit::Switch::retries, .off = true, .reason = "storm"});
  const http::Response answer = pages.answer(order);
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("storm"), std::string::npos) << answer.body;
  EXPECT_LT(between(before, run::now()),
            std::chrono::milliseconds(900));  // A loop's patience: 1 s.

  const ProxyState state = target.state();
  EXPECT_EQ(state.loops, 1U);
  EXPECT_EQ(state.answered, 0U);
  sink.go_on.set_value();
}

}  // namespace
}  // namespace damper::proxy
