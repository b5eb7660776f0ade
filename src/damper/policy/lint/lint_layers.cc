// The rules about layers: routes whose services call each other.
#include "damper/policy/lint/lint_rules.h"

#include <algorithm>

#include "damper/base/duration_text.h"
#include "damper/policy/lint/deadline_fit.h"

namespace damper::policy {
namespace {

constexpr std::size_t kMostFactors = 10;

// Layers with a tight budget each may retry on their own: 1.1 x 1.1 is no storm.
bool multiplies(const Amplified& amplified) {
  return amplified.retrying.size() > 1 && amplified.attempts >= kWide;
}

// "3 x 3 x 3 = 27"
std::string product_text(const Lens& lens, const Amplified& amplified) {
  std::string text;
  const std::size_t shown = std::min(amplified.retrying.size(), kMostFactors);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : " x ") + attempts_text(lens.layers[amplified.retrying[i]].attempts);
  }
  if (shown < amplified.retrying.size()) text += " x ...";
  const bool cut = amplified.attempts >= kMostAmplified;
  return text + (cut ? " = over " : " = ") + attempts_text(amplified.attempts);
}

void find_layered_retries(const Lens& lens, Findings& found) {
  const Amplified& amplified = lens.amplified[lens.position];
  if (!multiplies(amplified)) return;
  // Said once, at the bottom.
  const std::vector<std::size_t>& below = lens.layers[lens.position].calls;
  if (std::any_of(below.begin(), below.end(),
                  [&](std::size_t i) { return multiplies(lens.amplified[i]); })) {
    return;
  }
  double most = 1;
  for (const std::size_t i : amplified.path) most = std::max(most, lens.layers[i].attempts);
  std::vector<std::size_t> others = amplified.retrying;
  others.erase(others.begin());
  std::string names;
  for (std::size_t i = 0; i < std::min(others.size(), kMostFactors); ++i) {
    names += (i == 0 ? "" : ", ") + lens.routes[others[i]].name;
  }
  if (others.size() > kMostFactors) names += ", ...";
  found.push_back(lens.finding(
      Rule::layered_retries, "retry_policy.num_retries",
      "in " + path_text(lens, amplified.path) + " " + std::to_string(amplified.retrying.size()) +
          " layers retry on their own: one request can become " + product_text(lens, amplified) +
          " attempts",
      "retry_policy: { num_retries: 0 }   # in " + names +
          "; or carry damper-retry-owner through all layers (ownership: true): at most " +
          attempts_text(most)));
}

void find_stacked_timeouts(const Lens& lens, Findings& found) {
  if (lens.layers[lens.position].carries) return;
  const Duration waits = longest_attempt(lens.policy().call);
  for (const std::size_t i : lens.layers[lens.position].calls) {
    Lens below = lens;
    below.position = i;
    if (below.policy().call.timeout <= waits) continue;
    found.push_back(below.finding(Rule::stacked_timeouts, "timeout",
                                  "it works for up to " + below.value("timeout") + ", but " +
                                      lens.route().name + " above it waits for " +
                                      format_duration(waits) + " and does not pass on how long",
                                  "timeout: " + format_duration(waits)));
  }
}

}  // namespace

void find_layers(const Lens& lens, Findings& found) {
  find_layered_retries(lens, found);
  find_stacked_timeouts(lens, found);
}

}  // namespace damper::policy
