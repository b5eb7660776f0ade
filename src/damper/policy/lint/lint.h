#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/config/error.h"
#include "damper/policy/file/policy_file.h"

namespace damper::policy {

// How bad a finding is: `error` is unsafe or can collapse, `warning` is risky or does not do what
// it says, `note` is good to know.
enum class Severity : std::uint8_t { note, warning, error };

inline constexpr EnumNames<Severity::error> kSeverityNames = {"note", "warning", "error"};
[[nodiscard]] constexpr std::string_view name(Severity severity) noexcept {
  return kSeverityNames[severity];
}

// A Rule is something that the linter looks for. Its name is the same word in the output, in a
// SARIF file and in docs/guide/check.md.
enum class Rule : std::uint8_t {
  does_not_load,
  load_over_capacity,
  load_over_hidden_capacity,
  unsafe_retries,
  timeout_under_p50,
  no_budget,
  retry_floor,
  amplification,
  layered_retries,
  stacked_timeouts,
  no_jitter,
  any_method_retried,
  attempts_exceed_deadline,
  no_deadline,
  timeout_under_p99,
  timeout_far_over_p99,
  hedge_without_budget,
  hedge_without_attempts,
  hedged_writes,
  lease_under_timeout,
  throttle_without_bound,
  rate_under_load,
  wait_over_timeout,
  strangers_trusted,
  limit_bypassed,
  no_client_limit,
  hidden_capacity,
  capacity_unknown,
  attempts_may_not_fit,
  methods_not_retried,
  hedges_spend_budget,
  retries_on_overload,
  known_harm,
  not_as_written,
};

inline constexpr EnumNames<Rule::not_as_written> kRuleNames = {"does-not-load",
                                                               "load-over-capacity",
                                                               "load-over-hidden-capacity",
                                                               "unsafe-retries",
                                                               "timeout-under-p50",
                                                               "no-budget",
                                                               "retry-floor",
                                                               "amplification",
                                                               "layered-retries",
                                                               "stacked-timeouts",
                                                               "no-jitter",
                                                               "any-method-retried",
                                                               "attempts-exceed-deadline",
                                                               "no-deadline",
                                                               "timeout-under-p99",
                                                               "timeout-far-over-p99",
                                                               "hedge-without-budget",
                                                               "hedge-without-attempts",
                                                               "hedged-writes",
                                                               "lease-under-timeout",
                                                               "throttle-without-bound",
                                                               "rate-under-load",
                                                               "wait-over-timeout",
                                                               "strangers-trusted",
                                                               "limit-bypassed",
                                                               "no-client-limit",
                                                               "hidden-capacity",
                                                               "capacity-unknown",
                                                               "attempts-may-not-fit",
                                                               "methods-not-retried",
                                                               "hedges-spend-budget",
                                                               "retries-on-overload",
                                                               "known-harm",
                                                               "not-as-written"};
[[nodiscard]] constexpr std::string_view name(Rule rule) noexcept { return kRuleNames[rule]; }

// What there is to know of a rule: how bad what it finds is, what it finds, and why that matters,
// each a sentence.
struct RuleText {
  Severity severity;
  std::string_view what;
  std::string_view why;
};
[[nodiscard]] const RuleText& text_of(Rule rule);
[[nodiscard]] inline Severity severity_of(Rule rule) { return text_of(rule).severity; }

// A Finding is one thing that the linter has to say about a policy.
struct Finding {
  Rule rule;
  config::SourceLocation place;  // of the value; of the route when the value is not set
  std::string route;             // empty: the file's only one, or the file as a whole
  std::string why;               // one or two sentences, with the numbers
  std::string fix;               // what to write instead: a line of the policy file, or what to do
};

// The linter: what is wrong, risky or good to know about routes that are valid.
//
// Why: the loader refuses policies that cannot be run. Many that can be run are unsafe: retries
// that the capacity does not allow, attempts that do not fit the deadline.
// Model: each rule is a function of the settings and the facts of a route, or of the layers that
// the routes' facts build. Nothing is assumed about facts that are not set. Routes are loaded from
// a file, imported, or filled in by a caller: name, place, settings and facts are enough; without
// origins and places a finding has the location of its route.
// Invariants:
//   (1) The default policy without facts has no findings.
//   (2) Findings come in the order of their places, then of the rules, and each has a fix.
//   (3) A finding that relies on a fact is not made without it.
[[nodiscard]] std::vector<Finding> lint(std::span<const Route> routes);

// A note that the loader made, as a finding.
[[nodiscard]] Finding finding_of(const config::Note& note);

// The same for all routes of the file, and its notes.
[[nodiscard]] std::vector<Finding> lint(const PolicyFile& file);

}  // namespace damper::policy
