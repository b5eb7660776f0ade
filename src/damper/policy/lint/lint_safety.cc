// The rules about what is sent twice: unsafe methods, hedges.
#include "damper/policy/lint/lint_rules.h"

#include <algorithm>

#include "damper/base/text/words.h"
#include "damper/decide/idempotency.h"

namespace damper::policy {
namespace {

std::vector<std::string_view> unsafe_methods(const Facts& facts) {
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < kMethodNames.size(); ++i) {
    const bool sent = (facts.methods >> i & 1U) != 0;
    if (sent && !decide::idempotent_method(kMethodNames[i])) found.push_back(kMethodNames[i]);
  }
  return found;
}

}  // namespace

void find_unsafe(const Lens& lens, Findings& found) {
  if (lens.extra_attempts() == 0) return;
  const Facts& facts = lens.facts();
  const std::vector<std::string_view> methods = unsafe_methods(facts);
  if (!facts.assume_idempotent) {
    if (methods.empty()) return;
    found.push_back(lens.finding(
        Rule::methods_not_retried, "facts.methods",
        text::joined(methods) + ": sent again only when the first attempt surely never left",
        "send an Idempotency-Key, if the server knows it, to have these retried too"));
  } else if (facts.methods == 0) {
    found.push_back(lens.finding(Rule::any_method_retried, "facts.assume_idempotent",
                                 "every request is retried, and nobody says that none is a POST",
                                 "facts: { methods: [GET] }   # what is really sent"));
  } else if (!methods.empty()) {
    found.push_back(lens.finding(
        Rule::unsafe_retries, "facts.assume_idempotent",
        text::joined(methods) +
            ": retried also when the first attempt may have been carried out, up to " +
            std::to_string(lens.extra_attempts() + 1) + " times in all",
        "assume_idempotent: false   # and an Idempotency-Key for those that the server knows"));
  }
}

void find_hedges(const Lens& lens, Findings& found) {
  const schedule::HedgeOptions& hedge = lens.policy().call.hedge;
  const Percent budget = lens.policy().budget.percent;
  if (hedge.max_hedges == 0) return;
  if (lens.policy().call.max_attempts == 1) {
    found.push_back(lens.finding(Rule::hedge_without_attempts, "hedge_policy.max_hedges",
                                 "max_hedges is " + std::to_string(hedge.max_hedges) +
                                     ", but num_retries is 0, and hedges count as attempts: none "
                                     "is ever sent",
                                 "retry_policy: { num_retries: 1 }"));
  } else if (std::min(hedge.ratio, budget) >= Percent(100)) {
    found.push_back(
        lens.finding(Rule::hedge_without_budget, "hedge_policy.additional_request_chance",
                     "every request may be hedged: when the dependency slows down its load doubles",
                     "hedge_policy: { additional_request_chance: { numerator: 5 } }"));
  } else if (hedge.ratio >= budget && budget > Percent(0)) {
    found.push_back(lens.finding(
        Rule::hedges_spend_budget, "hedge_policy.additional_request_chance",
        "hedges may be " + decimal(hedge.ratio.ratio() * 100, 2) +
            " % of the requests, and they share the retry budget of " +
            lens.value("retry_budget.budget_percent") + " %: nothing is left for retries",
        "additional_request_chance: " + decimal(static_cast<double>(budget.hundredths()) / 200, 2) +
            "%"));
  }
}

}  // namespace damper::policy
