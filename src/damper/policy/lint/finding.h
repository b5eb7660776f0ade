#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/config/error.h"

namespace damper::policy {

// How bad a finding is: `error` is unsafe or can collapse, `warning` is risky or does not do what
// it says, `note` is good to know.
enum class Severity : std::uint8_t { note, warning, error };

inline constexpr std::array<std::string_view, 3> kSeverityNames = {"note", "warning", "error"};
[[nodiscard]] constexpr std::string_view name(Severity severity) noexcept {
  return kSeverityNames[static_cast<std::size_t>(severity)];
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
  hidden_capacity,
  attempts_may_not_fit,
  methods_not_retried,
  hedges_spend_budget,
  retries_on_overload,
  not_as_written,
};

inline constexpr std::array<std::string_view, 24> kRuleNames = {"does-not-load",
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
                                                                "hidden-capacity",
                                                                "attempts-may-not-fit",
                                                                "methods-not-retried",
                                                                "hedges-spend-budget",
                                                                "retries-on-overload",
                                                                "not-as-written"};
[[nodiscard]] constexpr std::string_view name(Rule rule) noexcept {
  return kRuleNames[static_cast<std::size_t>(rule)];
}

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

}  // namespace damper::policy
