// A controller that keeps a range of keys in etcd in their desired state, through etcd's HTTP
// gateway. etcd is stopped and restarted meanwhile.

#include <iostream>
#include <map>
#include <thread>

#include "damper/controller.h"
#include "damper/http/client/blocking_client.h"
#include "etcd_gateway.h"

using namespace std::chrono_literals;
using damper::http::BlockingClient;

namespace {

const std::map<std::string, std::string> kDesired = {
    {"shop/web", "replicas: 3"}, {"shop/cart", "replicas: 2"}, {"shop/search", "replicas: 5"}};

// [reconcile]
// Reconciles one key. The controller retries keys, so the calls inside are tried once; they inherit
// the deadline of the run.
damper::Reconcile reconcile(BlockingClient& client, const std::string& key) {
  const std::string& value = kDesired.at(key);
  const auto found = etcd::read(client, key);
  if (!found) return damper::failed(found);
  if (!etcd::has(found, value)) {
    if (const auto written = etcd::write(client, key, value); !written) {
      return damper::failed(written);
    }
  }
  return damper::requeue_after(100ms);  // and check again: other clients may write too
}
// [/reconcile]

// Polls etcd until all keys have their desired values; gives up after 20 seconds.
bool is_right_soon(BlockingClient& client) {
  for (const damper::Instant until = damper::in(20s); damper::run::now() < until;) {
    bool right = true;
    for (const auto& [key, value] : kDesired) {
      right = right && etcd::has(etcd::read(client, key), value);
    }
    if (right) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

}  // namespace

int main() {
  etcd::Server server;
  damper::Dependency dependency("etcd");
  BlockingClient client(dependency, {.endpoints = {server.url()}});
  damper::ControllerOptions options{.name = "shop", .workers = 2};
  options.retries.max_attempts = 100;
  options.retries.backoff = {.base = 20ms, .cap = 1s};
  damper::Controller<std::string> controller(
      options, [&](const std::string& key) { return reconcile(client, key); });
  for (const auto& [key, value] : kDesired) controller.add(key);
  std::cout << (is_right_soon(client) ? "all is right\n" : "etcd did not come\n");

  (void)etcd::write(client, "shop/web", "replicas: 0");
  std::cout << (is_right_soon(client) ? "somebody broke it, and it is right again\n" : "broken\n");

  server.kill();
  while (etcd::read(client, "shop/web")) {
  }
  std::this_thread::sleep_for(300ms);
  std::cout << "etcd is away; keys that wait for it: " << kDesired.size() << '\n';
  server.start();
  std::cout << (is_right_soon(client) ? "etcd is back, and all is right\n" : "lost\n");
  return controller.stop().empty() ? 1 : 0;  // Each key waits for its next run: handed back.
}
