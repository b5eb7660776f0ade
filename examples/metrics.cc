// A dependency's metrics as a page for Prometheus, and its transitions as lines of a log.

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "damper/damper.h"
#include "damper/observe/dependency_metrics.h"
#include "damper/observe/event_counts.h"
#include "damper/observe/registry.h"
#include "damper/observe/transition_log.h"

using namespace std::chrono_literals;

namespace {

void to_standard_output(std::string_view line) { std::cout << line; }

// A constant clock, so that the output can be compared.
std::chrono::system_clock::time_point wall_clock() {
  return std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 2h + 13min;
}

}  // namespace

int main() {
  damper::Policy policy;
  policy.call.backoff = {.jitter = damper::Jitter::none, .base = 1ms, .cap = 1ms};  // The same.
  // [observe]
  damper::observe::TransitionLog log(to_standard_output, {}, wall_clock);
  damper::observe::Registry registry;
  damper::observe::EventCounts events(registry, &log);  // counts events and forwards them
  damper::observe::DependencyMetrics metrics(registry);

  damper::Dependency billing("billing", policy);
  billing.report_to(&events);
  const auto shown = metrics.add(billing);  // until `shown` is destroyed
  // [/observe]

  for (int i = 0; i < 10; ++i) {  // An outage; the reserve pays for three retries.
    (void)damper::call(billing, {.idempotent = true},
                       [](const damper::Attempt&) { return damper::Outcome::transient; });
  }

  // [expose]
  const std::string page = registry.expose();  // serve it as observe::kExpositionType
  // [/expose]
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("damper_attempts_total") || line.starts_with("damper_calls_total") ||
        line.find("\"transient\"") != std::string::npos ||
        line.find("\"budget_spent\"") != std::string::npos) {
      std::cout << line << '\n';
    }
  }
  billing.report_to(nullptr);
  return 0;
}
