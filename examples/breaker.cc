// A circuit breaker: after five failures in a row, calls are refused without an attempt.

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
  return 0;
}
