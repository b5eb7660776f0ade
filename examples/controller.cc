// The smallest controller.

#include <iostream>
#include <latch>
#include <string>

#include "damper/controller.h"

using namespace std::chrono_literals;

int main() {
  std::latch ran(1);
  const auto look_at = [&](const std::string& key) {
    std::cout << "looking at " << key << '\n';
    ran.count_down();
  };

  // [start]
  damper::Controller<std::string> controller({.workers = 4},
                                             [&](const std::string& key) -> damper::Reconcile {
                                               look_at(key);
                                               return damper::requeue_after(30s);
                                             });
  controller.add("deployments/web");
  // [/start]

  ran.wait();
  for (const auto& left : controller.stop(1s)) {
    std::cout << left.key << " waits for its time\n";
  }
  return 0;
}
