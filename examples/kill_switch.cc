// The kill switch: an operator turns retries off, and a call that waits for its retry ends at once.

#include <iostream>
#include <latch>
#include <thread>

#include "damper/damper.h"

using namespace std::chrono_literals;

int main() {
  damper::Policy patient;
  patient.call.timeout = 48h;
  patient.call.backoff = {.base = 24h, .cap = 24h};
  damper::Dependency database("database", patient);

  std::latch failed_once(1);
  damper::Verdict verdict{};
  std::thread caller([&] {
    const auto result = damper::call(database, {.idempotent = true}, [&](const damper::Attempt&) {
      failed_once.count_down();
      return damper::Outcome::transient;
    });
    verdict = result.verdict();
  });
  failed_once.wait();  // Now the call waits for its retry, for hours.

  // [switch]
  damper::switches().set(damper::Switch::retries, {.off = true, .reason = "db failover"});
  // [/switch]

  caller.join();
  std::cout << "the waiting call ended: " << damper::name(verdict) << '\n';

  // [scoped]
  const damper::Instant now = damper::run::now();
  database.flip(damper::Switch::hedging,
                {.off = true, .until = now + 30min, .reason = "cache is cold"}, now);
  // [/scoped]
  std::cout << "hedging to it: " << (database.switches().hedging_off(now) ? "off" : "on") << '\n';

  // [clear]
  damper::switches().clear(damper::Switch::retries);
  // [/clear]
  std::cout << "retries: " << (damper::switches().retries_off(now) ? "off" : "on") << '\n';
  return 0;
}
