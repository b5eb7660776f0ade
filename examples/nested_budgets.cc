// Two dependencies under one budget of the process: a retry withdraws from both budgets.

#include <iostream>

#include "damper/damper.h"

using namespace std::chrono_literals;

int main() {
  damper::Policy policy;
  policy.call.backoff = {.base = 1ms, .cap = 1ms};
  // [nested]
  damper::admit::RetryBudget process({.percent = damper::Percent(5), .reserve = 0});
  damper::Dependency search("search", policy, &process);
  damper::Dependency billing("billing", policy, &process);
  // [/nested]
  const auto fails = [](const damper::Attempt&) { return damper::Outcome::transient; };
  for (int i = 0; i < 100; ++i) {
    (void)damper::call(search, {.idempotent = true}, fails);
    (void)damper::call(billing, {.idempotent = true}, fails);
  }
  std::cout << "200 calls, " << search.tally().all_retries() + billing.tally().all_retries()
            << " retries\n";
  return 0;
}
