#include "damper/proxy/data/proxy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/proxy/data/proxy_testing.h"
#include "damper/run/dependency.h"

namespace damper::proxy {
namespace {

using http::RawClient;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Proxy, PassesRequestsOnFromSeveralLoops) {
  TestBackend backend("one");
  const auto proxy = start(config_for({backend.url()}));
  for (int i = 0; i < 20; ++i) {
    RawClient client(proxy->port("web"));
    EXPECT_TRUE(says(ask(client, "/a"), "one /a!"));
    EXPECT_TRUE(says(ask(client, "/b"), "one /b!"));
  }
  EXPECT_EQ(backend.requests, 40);
  EXPECT_EQ(proxy->version(), 1U);
  EXPECT_EQ(proxy->sockets().size(), 2U);  // One for each loop.
  EXPECT_EQ(proxy->port("nobody"), 0);
}

TEST(Proxy, AStartThatFailsSaysWhyInASentence) {
  const http::TestServer taken(
      http::answer_with([](const http::Request&) { return http::Response{}; }));
  ProxyConfig config = config_for({"http://127.0.0.1:1"});
  config.listeners.push_back(listener_on("second", taken.port));
  auto failed = Proxy::start(config, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), "listener second: cannot listen on 127.0.0.1:" +
                                std::to_string(taken.port) + ": Address already in use");
  config.listeners[1].port = 0;
  config.listeners[1].tls = http::TlsServerOptions{.identity = {.certificate_file = "/nowhere.pem",
                                                                .key_file = "/nowhere.pem",
                                                                .certificate_pem = {},
                                                                .key_pem = {}}};
  failed = Proxy::start(config, {});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().find("listener second: certificate_file /nowhere.pem"),
            std::string::npos)
      << failed.error();
}

TEST(Proxy, AReloadKeepsConnectionsAndMovesRoutes) {
  TestBackend one("one");
  TestBackend two("two");
  ProxyConfig config = config_for({one.url()});
  const auto proxy = start(config);
  const std::uint16_t port = proxy->port("web");
  RawClient client(port);
  EXPECT_TRUE(says(ask(client), "one /!"));
  config.clusters.push_back(cluster_of("other", {two.url()}));
  config.routes.insert(config.routes.begin(), route_to("new", "other", "/new"));
  EXPECT_FALSE(proxy->reload(config));
  EXPECT_EQ(proxy->port("web"), port);
  EXPECT_EQ(proxy->version(), 2U);
  EXPECT_TRUE(says(ask(client, "/new"), "two /new!"));  // On the same connection.
  EXPECT_TRUE(says(ask(client, "/old"), "one /old!"));
  // The cluster's endpoints change under the route.
  config.clusters[0].endpoints = {two.url()};
  EXPECT_FALSE(proxy->reload(config));
  EXPECT_TRUE(says(ask(client, "/old"), "two /old!"));
  EXPECT_TRUE(soon([&] { return one.connections() == 0; }));  // Its idle ones are closed.
}

TEST(Proxy, ABadReloadChangesNothing) {
  TestBackend one("one");
  const http::TestServer taken(
      http::answer_with([](const http::Request&) { return http::Response{}; }));
  const ProxyConfig config = config_for({one.url()});
  const auto proxy = start(config);
  RawClient client(proxy->port("web"));
  ProxyConfig bad = config;
  bad.routes.clear();
  bad.listeners.push_back(listener_on("free"));
  bad.listeners.push_back(listener_on("taken", taken.port));
  const auto error = proxy->reload(bad);
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("listener taken"), std::string::npos) << *error;
  EXPECT_EQ(proxy->version(), 1U);
  EXPECT_EQ(proxy->config()->routes.size(), 1U);
  EXPECT_TRUE(says(ask(client), "one /!"));
  EXPECT_NE(proxy->registry().expose().find("damper_proxy_reloads_total{result=\"refused\"} 1"),
            std::string::npos);
}

TEST(Proxy, ListenersComeAndGoAndARenamedOneKeepsItsSocket) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  const auto proxy = start(config);
  const std::uint16_t port = proxy->port("web");
  RawClient kept(port);
  EXPECT_TRUE(says(ask(kept), "one"));
  config.listeners = {listener_on("renamed", port), listener_on("second")};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(proxy->port("web"), 0);
  EXPECT_EQ(proxy->port("renamed"), port);
  EXPECT_TRUE(says(ask(kept), "one"));
  EXPECT_TRUE(says(ask(proxy->port("second")), "one"));
  config.listeners = {listener_on("second")};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(kept.read_all(), "");  // Idle: closed at once.
  EXPECT_TRUE(says(ask(proxy->port("second")), "one"));
}

TEST(Proxy, BudgetsAndCountsAreContinuousThroughAReload) {
  const http::TestServer failing(
      http::answer_with([](const http::Request&) { return http::Response{.status = 503}; }));
  ProxyConfig config = config_for({"http://127.0.0.1:" + std::to_string(failing.port)});
  config.routes[0].settings.policy.budget = {.reserve = 1000, .min_per_second = 0};
  const auto proxy = start(config);
  const auto ask_all = [&] {
    for (int i = 0; i < 10; ++i) {
      RawClient client(proxy->port("web"));
      client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
      EXPECT_NE(client.read_all(), "");
    }
  };
  const double full = proxy->state().routes[0].budget.balance;
  ask_all();
  const double spent = proxy->state().routes[0].budget.balance;
  EXPECT_LT(spent, full - 5);  // Each was retried, and earned a part of one.
  config.routes[0].settings.policy.call.max_attempts = 5;
  config.clusters[0].retry_budget = admit::RetryBudgetOptions{};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(proxy->state().routes[0].budget.balance, spent);
  ask_all();
  EXPECT_TRUE(soon([&] { return proxy->state().routes[0].tally.finished == 20; }));
}

TEST(Proxy, ManyReloadsUnderLoadFailNoRequest) {
  TestBackend one("one");
  TestBackend two("two");
  ProxyConfig config = config_for({one.url(), two.url()});
  config.clusters.push_back(cluster_of("spare", {two.url()}));
  const auto proxy = start(config);
  std::atomic<bool> done = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      RawClient client(proxy->port("web"));
      while (!done) {
        const std::string answer = ask(client);
        (says(answer, "one") || says(answer, "two") ? good : bad) += 1;
      }
    });
  }
  for (int i = 0; i < 60; ++i) {
    ProxyConfig next = config;
    if (i % 2 == 0) next.clusters[0].endpoints = {i % 4 == 0 ? one.url() : two.url()};
    if (i % 3 == 0) next.clusters.pop_back();
    if (i % 5 == 0) next.routes[0].cluster = next.clusters.back().name;
    if (i % 7 == 0) next.clusters[0].pool.max_connections = 32;
    if (i % 4 == 0) next.routes[0].admission = http::AdmissionOptions{};
    EXPECT_FALSE(proxy->reload(next));
    std::this_thread::sleep_for(milliseconds(5));
  }
  done = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(good, 100);
  EXPECT_EQ(proxy->version(), 61U);
}

TEST(Proxy, AReloadChangesTheTrustOfAListener) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  const auto proxy = start(config);
  http::RawClient client(proxy->port("web"));
  const auto ask_late = [&] {  // With a deadline that has passed, if it is believed.
    client.send("GET / HTTP/1.1\r\nHost: test\r\nX-Request-Deadline: 0\r\n\r\n");
    return client.read_to("\r\n\r\n").substr(0, 12);
  };
  EXPECT_EQ(ask_late(), "HTTP/1.1 504");  // By default loopback is trusted.
  (void)client.read_to("\n");
  config.listeners[0].trust = {"none"};
  EXPECT_FALSE(proxy->reload(config));
  EXPECT_EQ(ask_late(), "HTTP/1.1 200");
}

TEST(Proxy, ADrainServesWhoHasConnectedAndRefusesTheRest) {
  TestBackend one("one");
  const auto proxy = start(config_for({one.url()}));
  const std::uint16_t port = proxy->port("web");
  RawClient idle(port);
  EXPECT_TRUE(says(ask(idle), "one"));
  std::vector<std::unique_ptr<RawClient>> fresh;
  for (int i = 0; i < 8; ++i) fresh.push_back(std::make_unique<RawClient>(port));
  std::thread drainer([&] { proxy->drain(seconds(5)); });
  EXPECT_EQ(idle.read_all(), "");
  for (const auto& client : fresh) {
    const std::string answer = ask(*client);
    EXPECT_TRUE(says(answer, "one"));
    // A loop that has not begun to drain keeps the connection, and closes it when it begins.
    const bool announced = answer.find("onnection: close") != std::string::npos;
    EXPECT_TRUE(announced || client->read_all().empty()) << answer;
  }
  drainer.join();
  EXPECT_TRUE(proxy->state().draining);
  EXPECT_TRUE(proxy->sockets().empty());
  EXPECT_EQ(proxy->reload(*proxy->config()), "the proxy is draining");
}

TEST(Proxy, ANewProcessTakesTheSocketsOverAndNoConnectionIsLost) {
  TestBackend one("one");
  TestBackend two("two");
  ProxyConfig config = config_for({one.url()});
  auto old = start(config);
  const std::uint16_t port = old->port("web");
  // As exec() would: descriptors of the same sockets.
  ProxyOptions options;
  for (const InheritedSocket& socket : old->sockets()) {
    options.inherited.push_back({.listener = "other name", .fd = ::dup(socket.fd)});
  }
  config.clusters[0].endpoints = {two.url()};
  config.listeners[0].port = port;  // Found by where they are bound to.
  config.threads = 3;               // More loops than sockets.
  std::vector<std::unique_ptr<RawClient>> before;
  for (int i = 0; i < 8; ++i) before.push_back(std::make_unique<RawClient>(port));
  const auto next = start(config, options);
  ASSERT_NE(next, nullptr);
  std::thread drainer([&] { old->drain(seconds(5)); });
  for (int i = 0; i < 20; ++i) {
    const std::string answer = ask(port);
    EXPECT_TRUE(says(answer, "one") || says(answer, "two")) << answer;
  }
  for (const auto& client : before) EXPECT_TRUE(ask(*client).starts_with("HTTP/1.1 200"));
  drainer.join();
  old.reset();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(says(ask(port), "two"));
}

TEST(Proxy, TheStateShowsEveryPart) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  config.routes[0].admission = http::AdmissionOptions{};
  const auto proxy = start(config);
  RawClient client(proxy->port("web"));
  EXPECT_TRUE(says(ask(client), "one"));
  EXPECT_TRUE(soon([&] { return proxy->state().requests_under_way == 0; }));
  const ProxyState state = proxy->state();
  EXPECT_EQ(state.version, 1U);
  EXPECT_EQ(state.loops, 2U);
  ASSERT_EQ(state.listeners.size(), 1U);
  EXPECT_EQ(state.listeners[0].name, "web");
  EXPECT_EQ(state.listeners[0].port, proxy->port("web"));
  EXPECT_EQ(state.listeners[0].connections, 1U);
  ASSERT_EQ(state.clusters.size(), 1U);
  ASSERT_EQ(state.clusters[0].replicas.size(), 1U);
  EXPECT_EQ(state.clusters[0].replicas[0].endpoint, one.url());
  EXPECT_EQ(state.clusters[0].replicas[0].connections, 1U);
  ASSERT_EQ(state.routes.size(), 1U);
  EXPECT_EQ(state.routes[0].name, "all");
  EXPECT_EQ(state.routes[0].tally.finished, 1U);
  ASSERT_EQ(state.scopes.size(), 3U);
  EXPECT_EQ(state.scopes[0].scope.text(), "process");
  EXPECT_EQ(state.scopes[1].scope.text(), "cluster/backend");
  EXPECT_EQ(state.scopes[2].scope.text(), "route/all");
  const std::string metrics = proxy->registry().expose();  // As of that state().
  for (const std::string line :
       {"damper_proxy_loops 2", "damper_proxy_config_version 1",
        "damper_http_client_connections{client=\"backend\"} 1",
        "damper_calls_total{dependency=\"all\"} 1", "damper_proxy_gate_running{route=\"all\"} 0",
        "damper_proxy_tunnels{route=\"all\"} 0", "damper_proxy_max_tunnels{route=\"all\"} 1000",
        "damper_proxy_tunnels_refused_total{route=\"all\"} 0",
        "damper_http_accepted_total{server=\"web\"} 1",
        "damper_cluster_addresses_left_out{cluster=\"backend\"} 0"}) {
    EXPECT_NE(metrics.find(line + "\n"), std::string::npos) << line << "\n" << metrics;
  }
  EXPECT_NE(
      metrics.find("damper_replica_ejected{cluster=\"backend\",replica=\"" + one.url() + "\"} 0"),
      std::string::npos);
}

TEST(Proxy, SwitchesAreFlippedByScope) {
  TestBackend one("one");
  const auto proxy = start(config_for({one.url()}));
  const admit::SwitchSetting off{.off = true, .reason = "a test"};
  EXPECT_FALSE(proxy->flip(SwitchScope::route("all"), admit::Switch::retries, off));
  EXPECT_FALSE(proxy->flip(SwitchScope::cluster("backend"), admit::Switch::hedging, off));
  EXPECT_FALSE(proxy->flip(SwitchScope{}, admit::Switch::retries, off));
  const auto unknown = proxy->flip(SwitchScope::route("nobody"), admit::Switch::retries, off);
  ASSERT_TRUE(unknown);
  EXPECT_NE(unknown->find("there is no scope \"route/nobody\""), std::string::npos);
  const ProxyState state = proxy->state();
  EXPECT_TRUE(state.scopes[0].switches[0].off);
  EXPECT_FALSE(state.scopes[0].switches[1].off);
  EXPECT_TRUE(state.scopes[1].switches[1].off);
  EXPECT_TRUE(state.scopes[2].switches[0].off);
  EXPECT_EQ(state.scopes[2].switches[0].reason, "a test");
  EXPECT_FALSE(proxy->flip(SwitchScope{}, admit::Switch::retries, {}));
  EXPECT_FALSE(damper::switches().retries_off(run::now()));
}

TEST(Proxy, ASwitchStaysOffForARouteThatMovesAndForOneThatComesBack) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  config.clusters.push_back(cluster_of("other", {one.url()}));
  const auto proxy = start(config);
  const admit::SwitchSetting off{.off = true, .reason = "an incident"};
  ASSERT_FALSE(proxy->flip(SwitchScope::route("all"), admit::Switch::retries, off));
  ASSERT_FALSE(proxy->flip(SwitchScope::cluster("other"), admit::Switch::hedging, off));
  const auto status = [&](std::string_view scope, admit::Switch which) {
    for (const ScopeState& state : proxy->state().scopes) {
      if (state.scope.text() == scope) return state.switches[static_cast<std::size_t>(which)];
    }
    return admit::SwitchStatus{};
  };
  const ProxyConfig before = config;
  config.routes[0].cluster = "other";  // It moves.
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(status("route/all", admit::Switch::retries).off);
  EXPECT_EQ(status("route/all", admit::Switch::retries).reason, "an incident");
  EXPECT_FALSE(status("route/all", admit::Switch::hedging).off);
  config = before;
  config.routes[0].name = "renamed";
  config.clusters.pop_back();
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_FALSE(status("route/renamed", admit::Switch::retries).off);
  ASSERT_FALSE(proxy->reload(before));  // Both are back.
  EXPECT_TRUE(status("route/all", admit::Switch::retries).off);
  EXPECT_TRUE(status("cluster/other", admit::Switch::hedging).off);
  ASSERT_FALSE(proxy->flip(SwitchScope::route("all"), admit::Switch::retries, {}));
  config = before;
  config.routes[0].cluster = "other";
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_FALSE(status("route/all", admit::Switch::retries).off);  // Cleared is cleared.
}

TEST(Proxy, ALimitIsOfAllLoopsTogetherAndAPlaceFindsWhoWaits) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  http::AdmissionOptions& door = config.routes[0].admission.emplace();
  door.limit.kind = admit::LimitKind::fixed;
  door.limit.initial = 1;
  door.queue.interval = door.queue.target = seconds(10);  // Nobody is shed.
  door.longest_wait = seconds(10);
  const auto proxy = start(config);
  const auto route = [&] { return proxy->state().routes[0]; };
  RawClient first(proxy->port("web"));
  first.send("GET /held HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_TRUE(soon([&] { return route().running == 1; }));
  std::vector<std::unique_ptr<RawClient>> others;  // On either loop.
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<RawClient>(proxy->port("web")));
    others.back()->send("GET /b HTTP/1.1\r\nHost: test\r\n\r\n");
  }
  EXPECT_TRUE(soon([&] { return route().queued == 8; }));
  EXPECT_EQ(route().running, 1);
  EXPECT_EQ(route().gate_limit, 1);
  EXPECT_NE(proxy->registry().expose().find("damper_proxy_gate_limit{route=\"all\"} 1\n"),
            std::string::npos);
  one.release();
  EXPECT_TRUE(says(first.read_to("!"), "one /held!"));
  for (const auto& other : others) EXPECT_TRUE(says(other->read_to("!"), "one /b!"));
  EXPECT_TRUE(soon([&] { return route().running == 0 && route().queued == 0; }));
}

TEST(Proxy, MaxConnectionsIsOfAllLoopsTogether) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  config.listeners[0].max_connections = 3;
  const auto proxy = start(config);
  const auto connections = [&] { return proxy->state().listeners[0].connections; };
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto open = [&] {
    clients.push_back(std::make_unique<RawClient>(proxy->port("web")));
    return says(ask(*clients.back()), "one");
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(open());  // On whichever loop.
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(open());
  EXPECT_EQ(connections(), 3U);
  config.listeners[0].max_connections = 4;
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(proxy->state().listeners[0].max_connections, 4U);
  EXPECT_TRUE(open());
  EXPECT_FALSE(open());
  config.listeners[0].max_connections = 2;  // Those that are there stay.
  ASSERT_FALSE(proxy->reload(config));
  clients[0]->close();
  clients[1]->close();
  EXPECT_TRUE(soon([&] { return connections() == 2; }));
  EXPECT_FALSE(open());
  EXPECT_TRUE(says(ask(*clients[2]), "one"));
}

TEST(Proxy, AGateWithNewOptionsKnowsWhatRuns) {
  TestBackend one("one");
  ProxyConfig config = config_for({one.url()});
  config.routes[0].admission = http::AdmissionOptions{};
  const auto proxy = start(config);
  RawClient client(proxy->port("web"));
  client.send("GET /held HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_TRUE(soon([&] { return proxy->state().routes[0].running == 1; }));
  config.routes[0].admission->queue.capacity = 10;
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_EQ(proxy->state().routes[0].running, 1);
  one.release();
  EXPECT_TRUE(says(client.read_to("!"), "one"));
  EXPECT_TRUE(soon([&] { return proxy->state().routes[0].running == 0; }));
}

TEST(Proxy, DrainsThatMeetWaitForTheSame) {
  TestBackend one("one");
  const auto proxy = start(config_for({one.url()}));
  RawClient client(proxy->port("web"));
  client.send("GET /a HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\n");  // Under way.
  EXPECT_TRUE(soon([&] { return proxy->state().requests_under_way == 1; }));
  std::atomic<int> over = 0;
  std::vector<std::thread> drainers;
  for (int i = 0; i < 2; ++i) {
    drainers.emplace_back([&] {
      proxy->drain(seconds(10));
      ++over;
    });
  }
  EXPECT_TRUE(soon([&] { return proxy->state().draining; }));
  client.send("x");
  EXPECT_TRUE(soon([&] { return over == 2; }));  // Each at once, none at its 10 s.
  for (std::thread& drainer : drainers) drainer.join();
}

}  // namespace
}  // namespace damper::proxy
