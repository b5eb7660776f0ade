#include "damper/policy/lint/lint_rules.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "damper/base/duration_text.h"
#include "damper/base/text/words.h"
#include "damper/decide/idempotency.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

constexpr std::size_t kMostShown = 10;
const Facts kNothingKnown;

// The methods of the facts that `allowed` does not hold for.
std::vector<std::string_view> methods_without(bool (*allowed)(std::string_view),
                                              const Facts& facts) {
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < kMethodNames.size(); ++i) {
    const bool sent = (facts.methods >> i & 1U) != 0;
    if (sent && !allowed(kMethodNames[i])) found.push_back(kMethodNames[i]);
  }
  return found;
}

bool is_idempotent(std::string_view method) { return decide::idempotent_method(method); }
bool is_safe(std::string_view method) { return decide::safe_method(method); }

}  // namespace

const Facts& Lens::facts() const { return settings().facts ? *settings().facts : kNothingKnown; }

bool Lens::retries() const {
  return policy().call.max_attempts > 1 && policy().call.retryable != decide::OutcomeSet{};
}

std::string Lens::value(std::string_view path) const {
  return block_schema().write(block_schema().key_at(path), settings());
}

void Lens::add(Rule rule, std::string_view path, std::string why, std::string fix) const {
  found->push_back({rule, place_of(route(), block_schema().position(path)), route().name,
                    std::move(why), std::move(fix)});
}

std::string decimal(double value, int decimals) {
  std::array<char, 400> digits{};  // The largest double has 309 before the point.
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  std::string text(digits.data(), end);
  if (text.find('.') == std::string::npos) return text;
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string time_text(Duration time) {
  std::int64_t unit = 1;
  while (time.count() / unit >= 10'000) unit *= 10;
  return format_duration(Duration{(time.count() + unit / 2) / unit * unit});
}

std::string path_text(const Lens& lens, const std::vector<std::size_t>& path) {
  std::string text;
  for (std::size_t i = 0; i < std::min(path.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : " > ") + lens.routes[path[i]].name;
  }
  return path.size() > kMostShown ? text + " > ..." : text;
}

void find_unsafe(const Lens& lens) {
  if (lens.extra_attempts() == 0) return;
  const Facts& facts = lens.facts();
  const std::vector<std::string_view> methods = methods_without(is_idempotent, facts);
  if (!facts.assume_idempotent) {
    if (methods.empty()) return;
    lens.add(Rule::methods_not_retried, "facts.methods",
             text::joined(methods) + ": sent again only when the first attempt surely never left",
             "send an Idempotency-Key, if the server knows it, to have these retried too");
  } else if (facts.methods == 0) {
    lens.add(Rule::any_method_retried, "facts.assume_idempotent",
             "every request is retried, and facts.methods does not exclude POST",
             "facts: { methods: [GET] }   # what is really sent");
  } else if (!methods.empty()) {
    lens.add(Rule::unsafe_retries, "facts.assume_idempotent",
             text::joined(methods) +
                 ": retried also when the first attempt may have been carried out, up to " +
                 std::to_string(lens.extra_attempts() + 1) + " times in all",
             "assume_idempotent: false   # and an Idempotency-Key for those that the server knows");
  }
}

void find_hedges(const Lens& lens) {
  const schedule::HedgeOptions& hedge = lens.policy().call.hedge;
  const Percent budget = lens.policy().budget.percent;
  if (hedge.max_hedges == 0) return;
  const std::vector<std::string_view> writes = methods_without(is_safe, lens.facts());
  if (!writes.empty()) {
    lens.add(Rule::hedged_writes, "facts.methods",
             text::joined(writes) +
                 ": a hedged write is executed twice at once, so these are not "
                 "hedged unless their caller declares them safe",
             "hedge_policy on a route of reads alone: methods: [GET]");
  }
  if (lens.policy().call.max_attempts == 1) {
    lens.add(Rule::hedge_without_attempts, "hedge_policy.max_hedges",
             "max_hedges is " + std::to_string(hedge.max_hedges) +
                 ", but num_retries is 0, and hedges count as attempts: none "
                 "is ever sent",
             "retry_policy: { num_retries: 1 }");
  } else if (std::min(hedge.ratio, budget) >= Percent(100)) {
    lens.add(Rule::hedge_without_budget, "hedge_policy.additional_request_chance",
             "every request may be hedged: when the dependency slows down its load doubles",
             "hedge_policy: { additional_request_chance: { numerator: 5 } }");
  } else if (hedge.ratio >= budget && budget > Percent(0)) {
    lens.add(Rule::hedges_spend_budget, "hedge_policy.additional_request_chance",
             "hedges may be " + decimal(hedge.ratio.ratio() * 100, 2) +
                 " % of the requests, and they share the retry budget of " +
                 lens.value("retry_budget.budget_percent") + " %: nothing is left for retries",
             "additional_request_chance: " +
                 decimal(static_cast<double>(budget.hundredths()) / 200, 2) + "%");
  }
}

}  // namespace damper::policy
