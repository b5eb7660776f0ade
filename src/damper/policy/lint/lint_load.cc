// The rules about how much reaches the dependency: capacity, budget, floor.
#include <algorithm>

#include "damper/base/duration_text.h"
#include "damper/policy/lint/deadline_fit.h"
#include "damper/policy/lint/lint_rules.h"

namespace damper::policy {
namespace {

constexpr double kFloorNoticed = 0.1;  // retries for each request that a floor may add
constexpr std::int32_t kAdvised = 10;  // percent

// The attempts for each request with the budget that is advised.
double with_budget(const Settings& settings) {
  Settings better = settings;
  better.policy.budget.percent = std::min(better.policy.budget.percent, Percent(kAdvised));
  better.policy.budget.min_per_second = 0;
  return worst_attempts(better);
}

// The lines that bring such a budget.
std::string budget_line(const Settings& settings) {
  const bool wide = settings.policy.budget.percent > Percent(kAdvised);
  const bool floor = settings.policy.budget.min_per_second > 0;
  std::string line = "retry_budget: { ";
  if (wide) line += "budget_percent: " + std::to_string(kAdvised);
  if (wide && floor) line += ", ";
  if (floor) line += "min_retries_per_second: 0";
  return line + " }";
}

// What would raise the hidden capacity, and how far. Empty when the policy has nothing to give.
struct Better {
  std::string fix;
  double attempts = 1;
};
Better better(const Lens& lens, double attempts) {
  const Amplified& amplified = lens.amplified[lens.position];
  if (amplified.retrying.size() > 1) {
    double most = 1;
    for (const std::size_t i : amplified.path) most = std::max(most, lens.layers[i].attempts);
    return {"let one layer retry (see layered-retries)", most};
  }
  // The layer that retries may be one above.
  const std::size_t at = amplified.retrying.empty() ? lens.position : amplified.retrying.front();
  const Settings& settings = lens.routes[at].settings;
  const double own = with_budget(settings);
  if (own >= attempts) return {"", attempts};
  const std::string where = at == lens.position ? "" : " in " + lens.routes[at].name;
  return {budget_line(settings) + where, own};
}

std::string fix_of(const Lens& lens, double attempts) {
  const Facts& facts = lens.facts();
  const Better found = better(lens, attempts);
  const double hidden = hidden_capacity(facts.capacity, found.attempts);
  std::string fix = found.fix;
  if (!fix.empty()) {
    fix +=
        "   # " + attempts_text(found.attempts) + " attempts: " + rate_text(hidden) + " is stable";
  }
  if (facts.load < hidden && !fix.empty()) return fix;
  if (!fix.empty()) fix += ", and ";
  if (facts.load == 0 || facts.load < hidden) {
    return fix + "keep the load under " + rate_text(hidden) + ", at its peak too";
  }
  return fix + "get a capacity over " + rate_text(facts.load * found.attempts) +
         ", or shed load before it";
}

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

void find_layered_retries(const Lens& lens) {
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
  lens.add(Rule::layered_retries, "retry_policy.num_retries",
           "in " + path_text(lens, amplified.path) + " " +
               std::to_string(amplified.retrying.size()) +
               " layers retry on their own: one request can become " +
               product_text(lens, amplified) + " attempts",
           "retry_policy: { num_retries: 0 }   # in " + names +
               "; or carry damper-retry-owner through all layers (ownership: true): at most " +
               attempts_text(most));
}

void find_stacked_timeouts(const Lens& lens) {
  if (lens.layers[lens.position].carries) return;
  const Duration waits = longest_attempt(lens.policy().call);
  for (const std::size_t i : lens.layers[lens.position].calls) {
    Lens below = lens;
    below.position = i;
    if (below.policy().call.timeout <= waits) continue;
    below.add(Rule::stacked_timeouts, "timeout",
              "it works for up to " + below.value("timeout") + ", but " + lens.route().name +
                  " above it waits for " + format_duration(waits) +
                  " and does not pass on how long",
              "timeout: " + format_duration(waits));
  }
}

// A capacity that is only bounded: a load over the bound is too much, any other cannot be judged.
void find_unknown(const Lens& lens) {
  const Facts& facts = lens.facts();
  const double most = facts.capacity_at_most;
  if (most <= 0) return;
  const double attempts = lens.amplified[lens.position].attempts;
  const std::string bound = "the capacity is not known, because " + facts.capacity_doubt +
                            "; it is at most " + rate_text(most);
  const std::string fix = "find it by simulation: damper lab map";
  if (facts.load >= most) {
    lens.add(Rule::load_over_capacity, "facts.load",
             "the load is " + rate_text(facts.load) + ", retries not counted; " + bound, fix);
  } else if (attempts > 1 && facts.load >= hidden_capacity(most, attempts)) {
    lens.add(Rule::load_over_hidden_capacity, "facts.load",
             "one request can become " + attempts_text(attempts) + " attempts, and the load is " +
                 rate_text(facts.load) + "; " + bound + ", of which " +
                 rate_text(hidden_capacity(most, attempts)) + " is stable",
             fix);
  } else {
    lens.add(Rule::capacity_unknown, "facts.capacity", bound, fix);
  }
}

}  // namespace

void find_load(const Lens& lens) {
  const Facts& facts = lens.facts();
  if (facts.capacity <= 0) return find_unknown(lens);
  const double attempts = lens.amplified[lens.position].attempts;
  const double hidden = hidden_capacity(facts.capacity, attempts);
  if (facts.load >= facts.capacity) {
    lens.add(Rule::load_over_capacity, "facts.load",
             "the load of " + rate_text(facts.load) + " is not under the capacity of " +
                 rate_text(facts.capacity) + ", retries not counted",
             fix_of(lens, attempts));
    return;
  }
  if (attempts <= 1) return;
  const std::string stable = "one request can become " + attempts_text(attempts) +
                             " attempts, so of the capacity of " + rate_text(facts.capacity) +
                             " only " + decimal(facts.capacity, 1) + " / " +
                             attempts_text(attempts) + " = " + rate_text(hidden) + " is stable";
  if (facts.load >= hidden) {
    lens.add(Rule::load_over_hidden_capacity, "facts.load",
             stable + "; the load is " + rate_text(facts.load) +
                 ", and a short trigger can leave it collapsed",
             fix_of(lens, attempts));
  } else {
    lens.add(Rule::hidden_capacity, "facts.capacity", stable, fix_of(lens, attempts));
  }
}

void find_amplification(const Lens& lens) {
  const Settings& settings = lens.settings();
  const admit::RetryBudgetOptions& budget = settings.policy.budget;
  const Facts& facts = lens.facts();
  const double worst = worst_attempts(settings);
  const double earned =
      1 + std::min<double>(lens.extra_attempts(), settings.policy.budget.percent.ratio());
  const std::string fix =
      budget_line(settings) + "   # " + attempts_text(with_budget(settings)) + " attempts";
  if (has_no_budget(settings)) {
    lens.add(Rule::no_budget, "retry_budget.budget_percent",
             "a budget of " + lens.value("retry_budget.budget_percent") +
                 " % refuses nothing: in an outage each request becomes " + attempts_text(worst) +
                 " attempts",
             fix);
  } else if (budget.min_per_second > 0 && worst - earned > kFloorNoticed) {
    const std::string floor = std::to_string(budget.min_per_second);
    const std::string why =
        facts.load > 0
            ? floor + " retries a second for each of " + std::to_string(facts.clients) +
                  (facts.clients == 1 ? " client" : " clients") + ", at a load of " +
                  rate_text(facts.load) + ": " + attempts_text(worst) +
                  " attempts for each request, and not the " + attempts_text(earned) +
                  " of the budget"
            : "each client has " + floor +
                  " retries a second whatever it sends: a fleet of quiet clients makes " +
                  attempts_text(worst) + " attempts of each request, and not " +
                  attempts_text(earned);
    lens.add(Rule::retry_floor, "retry_budget.min_retries_per_second", why, fix);
  } else if (worst >= kWide) {
    lens.add(Rule::amplification, "retry_budget.budget_percent",
             "one request can become " + attempts_text(worst) +
                 " attempts: in an outage that much more than the load reaches the dependency",
             fix);
  }
}

void find_layers(const Lens& lens) {
  find_layered_retries(lens);
  find_stacked_timeouts(lens);
}

}  // namespace damper::policy
