#include "damper/policy/lint/finding.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace damper::policy {
namespace {

TEST(Finding, EveryRuleHasANameOfItsOwnAndTwoSentences) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kRuleNames.size(); ++i) {
    const RuleText& text = text_of(static_cast<Rule>(i));
    EXPECT_TRUE(names.insert(kRuleNames[i]).second) << kRuleNames[i];
    EXPECT_EQ(kRuleNames[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789"),
              std::string_view::npos);
    EXPECT_TRUE(text.what.ends_with('.')) << kRuleNames[i];
    EXPECT_TRUE(text.why.ends_with('.')) << kRuleNames[i];
  }
}

// So that the table, the names and the enumeration are the same list.
TEST(Finding, TheWorstRulesComeFirst) {
  for (std::size_t i = 1; i < kRuleNames.size(); ++i) {
    EXPECT_LE(severity_of(static_cast<Rule>(i)), severity_of(static_cast<Rule>(i - 1)));
  }
  EXPECT_EQ(name(Rule::does_not_load), "does-not-load");
  EXPECT_EQ(name(Rule::timeout_under_p50), "timeout-under-p50");
  EXPECT_EQ(severity_of(Rule::timeout_under_p50), Severity::error);
  EXPECT_EQ(name(Rule::no_budget), "no-budget");
  EXPECT_EQ(severity_of(Rule::no_budget), Severity::warning);
  EXPECT_EQ(name(Rule::hedge_without_attempts), "hedge-without-attempts");
  EXPECT_EQ(severity_of(Rule::hedge_without_attempts), Severity::warning);
  EXPECT_EQ(name(Rule::hidden_capacity), "hidden-capacity");
  EXPECT_EQ(severity_of(Rule::hidden_capacity), Severity::note);
  EXPECT_EQ(static_cast<std::size_t>(Rule::not_as_written) + 1, kRuleNames.size());
  EXPECT_EQ(name(Rule::not_as_written), "not-as-written");
}

}  // namespace
}  // namespace damper::policy
