// A policy file is loaded and put in force; its budget bounds the retries of an outage.

#include <iostream>

#include "damper/damper.h"
#include "damper/policy/file/policy_file.h"

namespace {

constexpr const char* kPolicy = R"(
route:
  timeout: 2s
  retry_policy:
    num_retries: 2
    retry_back_off: { base_interval: 1ms, max_interval: 2ms }
  retry_budget: { budget_percent: 10, reserve: 3 }
)";

}  // namespace

int main() {
  // [load]
  const auto file = damper::policy::load(kPolicy, "damper.yaml");  // or load_file(path)
  if (!file) {
    std::cerr << to_string(file.error()) << '\n';  // FILE:LINE:COLUMN: the error
    return 1;
  }
  const damper::Policy policy = file->routes.front().settings.policy;
  damper::Dependency search("search", policy);
  // [/load]

  for (int i = 0; i < 100; ++i) {  // An outage: every attempt fails.
    const auto result = damper::call(search, {.idempotent = true}, [](const damper::Attempt&) {
      return damper::Outcome::transient;
    });
    if (result) return 1;
  }
  // [tally]
  const damper::engine::Tally tally = search.tally();
  std::cout << tally.finished << " calls, " << tally.attempts << " attempts, "
            << tally.of(damper::Verdict::budget_spent) << " ended with budget_spent\n";
  // [/tally]

  // [reload]
  damper::Policy calmer = policy;
  calmer.call.max_attempts = 1;
  if (!damper::engine::find_error(calmer)) search.reload(calmer, damper::run::now());
  // [/reload]
  return search.policy().max_attempts == 1 ? 0 : 1;
}
