// A circuit breaker: after five failures in a row, calls are refused without an attempt. An
// operator may hold it open or closed.

#include <iostream>

#include "damper/damper.h"

using namespace std::chrono_literals;

int main() {
  // [policy]
  damper::Policy policy;
  policy.breaker = {.consecutive_failures = 5, .open_base = 30s, .open_cap = 5min};
  damper::Dependency search("search", policy);
  // [/policy]
  int sent = 0;
  for (int i = 0; i < 8; ++i) {
    const auto result = damper::call(search, {}, [&](const damper::Attempt&) {
      ++sent;
      return damper::Outcome::transient;
    });
    std::cout << damper::name(result.verdict()) << '\n';
  }
  std::cout << sent << " calls left\n";

  // [force]
  const damper::Instant now = damper::run::now();
  search.force({.force = damper::BreakerForce::open, .length = 10min, .reason = "reindexing"}, now);
  // [/force]
  const auto held = search.breaker().forced(now);
  std::cout << "forced " << damper::admit::name(held.force) << ": " << held.reason << '\n';
  search.force({.force = damper::BreakerForce::closed, .reason = "it works again"}, now);
  const auto admitted =
      damper::call(search, {}, [](const damper::Attempt&) { return damper::Outcome::success; });
  std::cout << damper::name(admitted.verdict()) << '\n';
  return 0;
}
