// The rules about the parts that refuse calls: breaker, throttle.
#include "damper/base/duration_text.h"
#include "damper/policy/lint/lint_rules.h"

namespace damper::policy {

namespace {

constexpr Percent kMostRejected = Percent(95);

}  // namespace

void find_parts(const Lens& lens) {
  const auto& breaker = lens.policy().breaker;
  const Duration attempt = engine::longest_attempt(lens.policy().call);
  if (breaker && breaker->probe_lease > Duration{0} && breaker->probe_lease <= attempt) {
    lens.add(Rule::lease_under_timeout, "circuit_breaker.probe_lease",
             "a probe counts as failed after " + format_duration(breaker->probe_lease) +
                 ", and an attempt may take " + format_duration(attempt) +
                 ": an answer in between comes after the breaker has opened again",
             "probe_lease: auto   # " + format_duration(engine::derived_lease(lens.policy().call)));
  }
  const auto& throttle = lens.policy().throttle;
  if (throttle && throttle->max_rejected > kMostRejected) {
    const std::int32_t admitted = Percent(100).hundredths() - throttle->max_rejected.hundredths();
    lens.add(Rule::throttle_without_bound, "client_throttle.max_rejected",
             "up to " + lens.value("client_throttle.max_rejected") +
                 " % of the calls are rejected: " +
                 (admitted == 0
                      ? std::string("none is")
                      : "one in " + std::to_string(Percent(100).hundredths() / admitted) + " is") +
                 " left to find out that the dependency has recovered",
             "max_rejected: 92");
  }
}

}  // namespace damper::policy
