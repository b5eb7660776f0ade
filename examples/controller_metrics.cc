// A controller's metrics as a page for Prometheus, and the actions of an operator.

#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "damper/controller.h"
#include "damper/observe/registry.h"
#include "damper/queue/work_queue/queue_metrics.h"

using namespace std::chrono_literals;

int main() {
  damper::Controller<std::string> controller({.name = "deployments"}, [](const std::string& key) {
    return key == "web" ? damper::terminal("no such image") : damper::done();
  });

  // [metrics]
  damper::observe::Registry registry;
  damper::queue::QueueMetrics metrics(registry);
  const auto shown = metrics.add(controller);  // until `shown` is destroyed
  // [/metrics]

  controller.add("web");
  while (controller.stats().queue.parked == 0) std::this_thread::yield();
  std::istringstream page(registry.expose());
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("damper_queue_parked")) std::cout << line << '\n';
  }

  // [parked]
  for (const auto& key : controller.parked()) {
    std::cout << key.key << ": " << damper::name(key.verdict) << ", " << key.why << '\n';
  }
  controller.revive("web");  // or revive_all()
  // [/parked]

  // [switch]
  controller.switches().set(damper::Switch::retries,
                            {.off = true, .reason = "api server restarts"});
  // [/switch]

  // [stop]
  for (const auto& left : controller.stop(5s)) std::cout << "unfinished: " << left.key << '\n';
  // [/stop]
  return 0;
}
