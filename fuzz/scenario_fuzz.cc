// Input: a scenario file. No crash and no exception; an error is one line, and a valid scenario can
// be linted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/lab/runs/facts_of.h"
#include "damper/lab/scenario/scenario_file.h"
#include "damper/policy/lint/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenarios = damper::lab::load_scenario(text, "fuzz.yaml");
  if (!scenarios) {
    const std::string error = to_string(scenarios.error());
    DAMPER_CHECK(error.find('\n') == std::string::npos);
    DAMPER_CHECK(error.size() < 20'000);
    return 0;
  }
  DAMPER_CHECK(!scenarios->empty() && scenarios->size() <= damper::lab::kMostVariants);
  for (const damper::lab::Scenario& scenario : *scenarios) {
    DAMPER_CHECK(!find_error(scenario));
    const auto routes = facts_of(scenario);
    DAMPER_CHECK(!routes.empty());
    (void)damper::policy::lint(routes);
  }
  return 0;
}
