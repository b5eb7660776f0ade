// A queue in front of the work that sheds the least critical requests under overload.

#include <iostream>
#include <string>
#include <utility>

#include "damper/admit/shed_queue.h"
#include "damper/damper.h"

using namespace std::chrono_literals;
using damper::admit::Criticality;

namespace {

// [queue]
using Queue = damper::admit::ShedQueue<std::string>;

void on_shed(const Queue::Dropped& dropped) {  // answer it: 503, with Retry-After
  std::cout << dropped.item << ": " << damper::admit::name(dropped.reason) << '\n';
}

void enqueue(Queue& queue, std::string request, Criticality criticality, damper::Instant deadline) {
  const auto pushed = queue.push(std::move(request), criticality, deadline, damper::run::now(),
                                 damper::run::draw());
  if (pushed.evicted) on_shed(*pushed.evicted);
  if (!pushed.accepted()) std::cout << "refused: " << damper::name(pushed.verdict) << '\n';
}
// [/queue]

}  // namespace

int main() {
  Queue queue({.capacity = 2, .interval = 30s});
  enqueue(queue, "report", Criticality::sheddable, damper::in(1h));
  enqueue(queue, "page", Criticality::critical, damper::in(1h));
  enqueue(queue, "checkout", Criticality::critical_plus, damper::in(1h));
  enqueue(queue, "second report", Criticality::sheddable, damper::in(1h));
  // [pop]
  while (auto request = queue.pop(damper::run::now(), on_shed)) {
    std::cout << *request << ": served\n";
  }
  // [/pop]
  return 0;
}
