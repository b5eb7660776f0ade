#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/server/server_testing.h"
#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// A backend that says its name, and counts.
class TestBackend {
 public:
  explicit TestBackend(const std::string& name, http::ServerOptions options = {})
      : server_(http::answer_with([this, name](const http::Request& request) {
                  ++requests;
                  if (request.target == "/held") released_.wait();
                  return http::Response{.body = name + " " + request.target + "!"};
                }),
                std::move(options)) {}

  [[nodiscard]] std::uint16_t port() const noexcept { return server_.port; }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port);
  }
  [[nodiscard]] double connections() const { return server_.metrics.connections(); }

  // A request for /held, and all after it, are answered from then on.
  void release() { release_.set_value(); }

  std::atomic<int> requests = 0;

 private:
  std::promise<void> release_;
  const std::shared_future<void> released_ = release_.get_future().share();
  http::TestServer server_;
};

inline RouteConfig route_to(const std::string& name, const std::string& cluster,
                            const std::string& prefix = {}) {
  RouteConfig route;
  route.name = name;
  route.cluster = cluster;
  route.match.prefix = prefix;
  return route;
}

inline ClusterConfig cluster_of(const std::string& name, std::vector<std::string> endpoints) {
  ClusterConfig cluster;
  cluster.name = name;
  cluster.endpoints = std::move(endpoints);
  return cluster;
}

inline ListenerConfig listener_on(const std::string& name, std::uint16_t port = 0) {
  ListenerConfig listener;
  listener.name = name;
  listener.port = port;
  return listener;
}

// One listener "web", one route "all", one cluster "backend", two loops.
inline ProxyConfig config_for(std::vector<std::string> endpoints) {
  ProxyConfig config;
  config.listeners.push_back(listener_on("web"));
  config.clusters.push_back(cluster_of("backend", std::move(endpoints)));
  config.routes.push_back(route_to("all", "backend"));
  config.threads = 2;
  config.access_log = AccessLog::off;
  return config;
}

inline std::unique_ptr<Proxy> start(const ProxyConfig& config, const ProxyOptions& options = {}) {
  auto proxy = Proxy::start(config, options);
  EXPECT_TRUE(bool(proxy)) << (proxy ? "" : proxy.error());
  return proxy ? *std::move(proxy) : nullptr;
}

// A whole exchange on a connection: what came, up to the body's last byte.
inline std::string ask(http::RawClient& client, const std::string& target = "/") {
  client.send("GET " + target + " HTTP/1.1\r\nHost: test\r\n\r\n");
  return client.read_to("!");
}
inline std::string ask(std::uint16_t port, const std::string& target = "/") {
  http::RawClient client(port);
  return ask(client, target);
}
[[nodiscard]] inline bool says(const std::string& answer, const std::string& text) {
  return answer.starts_with("HTTP/1.1 200") && answer.find(text) != std::string::npos;
}

// Whether it comes true before long.
inline bool soon(const std::function<bool()>& condition) {
  const Instant end = add(run::now(), std::chrono::minutes(1));
  while (!condition()) {
    if (run::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace damper::proxy
