// The work queue without a controller, with its own threads and rate limiters.

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "damper/queue/limiters/limiters.h"
#include "damper/queue/work_queue/work_queue.h"

namespace queue = damper::queue;
using namespace std::chrono_literals;

namespace {

bool reconcile(const std::string& key, std::uint32_t failures) {
  return key != "flaky" || failures == 2;  // The third run succeeds.
}

}  // namespace

int main() {
  // [queue]
  queue::WorkQueue<std::string> keys(
      {.capacity = 10'000, .group_running = 2},
      queue::max_of<std::string>(queue::per_key<std::string>({.base = 1ms, .cap = 1min}),
                                 queue::bucket<std::string>({.rate_per_second = 50})));
  keys.add("web", {.group = "tenant-a"});
  keys.add("web");              // merged: it is already waiting
  keys.add_after("jobs", 1ms);  // the earliest time wins
  keys.add("flaky");

  const auto work = [&] {
    while (auto item = keys.get()) {  // empty after the shutdown, when no key is left
      if (reconcile(item.key(), keys.failures(item.key()))) {
        keys.forget(item.key());
        item.done();
      } else {
        (void)item.done_rate_limited();  // or with a Report: Retry-After is obeyed
      }
    }  // destroyed without done, as by an exception: the key runs again, rate-limited
  };
  // [/queue]
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) workers.emplace_back(work);
  for (queue::QueueStats now = keys.stats(); now.ready + now.delayed + now.running > 0;
       now = keys.stats()) {
    std::this_thread::sleep_for(1ms);
  }
  // [drain]
  const auto drained = keys.drain(5s);  // no more adds; delayed keys are handed back
  std::cout << (drained.empty ? "empty" : "busy") << ", " << drained.unfinished.size()
            << " handed back\n";
  // [/drain]
  const queue::QueueStats stats = keys.stats();
  std::cout << stats.merged << " merged, " << stats.marked << " marked\n";
}
