// A real etcd is killed and started again under a controller that keeps a range of keys right.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

#include "damper/controller.h"
#include "drill.h"
#include "etcd_gateway.h"

namespace damper::drills {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr int kKeys = 50;

std::string key(int number) { return "drill/" + std::to_string(number); }

class Desired {
 public:
  // What every key should be: it changes in the middle.
  std::atomic<int> version{1};
  [[nodiscard]] std::string value() const { return "version " + std::to_string(version.load()); }
};

bool is_right(http::BlockingClient& client, const std::string& value) {
  for (int i = 0; i < kKeys; ++i) {
    if (!etcd::has(etcd::read(client, key(i)), value)) return false;
  }
  return true;
}

// How long until all is right; more than 30 s: it is not.
Duration until_right(http::BlockingClient& client, const std::string& value) {
  const Instant began = run::now();
  while (!is_right(client, value) && run::now() < began + 30s) std::this_thread::sleep_for(20ms);
  return run::now() - began;
}

TEST(EtcdDrill, AControllerKeepsARangeRightWhileEtcdIsKilledAndStartedAgain) {
  etcd::Server server;
  Desired desired;
  Dependency dependency("etcd");
  Dependency eyes("observer", {});  // Looks without a share in the controller's budget.
  http::BlockingClient client(dependency, {.endpoints = {server.url()}});
  http::BlockingClient observer(eyes, {.endpoints = {server.url()}});
  ControllerOptions options{.name = "drill", .workers = 4};
  options.retries.max_attempts = 100;
  options.retries.backoff = {.base = 20ms, .cap = 1s};
  Controller<std::string> controller(options, [&](const std::string& name) -> Reconcile {
    const std::string value = desired.value();
    const auto found = etcd::read(client, name);
    if (!found) return failed(found);
    if (!etcd::has(found, value)) {
      if (const auto written = etcd::write(client, name, value); !written) return failed(written);
    }
    return requeue_after(500ms);
  });
  for (int i = 0; i < kKeys; ++i) controller.add(key(i));
  EXPECT_LT(until_right(observer, desired.value()), 20s) << "at first";

  server.kill();
  desired.version.fetch_add(1);  // Meant while etcd is away: only looking again shows it.
  for (int i = 0; i < kKeys; ++i) controller.add(key(i));
  const std::int64_t before = static_cast<std::int64_t>(dependency.tally().attempts);
  std::this_thread::sleep_for(1s);
  const std::int64_t attempts = static_cast<std::int64_t>(dependency.tally().attempts) - before;
  server.start();
  const Duration took = until_right(observer, desired.value());
  std::printf("%lld attempts while etcd was away for a second; right again after %.0f ms\n",
              static_cast<long long>(attempts), milliseconds(took));
  EXPECT_LT(took, 20s);
  EXPECT_LE(attempts, 4 * kKeys);  // Calm, two calls a key and half a second.
  EXPECT_EQ(controller.stop().size(), static_cast<std::size_t>(kKeys));  // None was lost.
}

}  // namespace
}  // namespace damper::drills
