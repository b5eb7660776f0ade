// A rate limit of the attempts: two are sent at once, the third is refused.

#include <iostream>

#include "damper/damper.h"

using namespace std::chrono_literals;

int main() {
  // [policy]
  damper::Policy policy;
  policy.attempt_rate = {.bucket = {.rate_per_second = 100, .burst = 20}, .max_wait = 50ms};
  damper::Dependency geocoder("geocoder", policy);
  // [/policy]
  const auto ask = [](damper::Dependency& dependency) {
    return damper::name(damper::call(dependency, {}, [](const damper::Attempt&) {
                          return damper::Outcome::success;
                        }).verdict());
  };
  std::cout << "geocoder: " << ask(geocoder) << '\n';

  policy.attempt_rate = {.bucket = {.rate_per_second = 0.01, .burst = 2}};
  damper::Dependency slow("slow", policy);
  for (int i = 0; i < 3; ++i) std::cout << "slow: " << ask(slow) << '\n';
  return 0;
}
