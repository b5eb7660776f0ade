#include "damper/cli/check/check_report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace damper::cli {
namespace {

using policy::Rule;
using policy::Severity;

CheckedFile file(std::vector<policy::Finding> findings) {
  return {.name = "p.yaml", .findings = std::move(findings), .loads = true};
}
std::string text(const CheckedFile& checked, bool quiet = false) {
  std::ostringstream out;
  print_check_text(out, checked, quiet);
  return out.str();
}

TEST(CheckReport, ATextIsLinesLikeACompilers) {
  EXPECT_EQ(text(file({{Rule::unsafe_retries, {3, 5}, "db", "POST: twice", "do not"},
                       {Rule::no_jitter, {4, 7}, "", "together", "jitter: full"},
                       {Rule::no_budget, {0, 0}, "", "wide", "narrow"}})),
            "p.yaml:3:5: error: db: POST: twice [unsafe-retries]\n"
            "    fix: do not\n"
            "p.yaml:4:7: warning: together [no-jitter]\n"
            "    fix: jitter: full\n"
            "p.yaml: warning: wide [no-budget]\n"
            "    fix: narrow\n"
            "p.yaml: 1 error, 2 warnings\n");
}

TEST(CheckReport, AFileWithoutMoreThanNotesIsOk) {
  EXPECT_EQ(text(file({})), "p.yaml: ok\n");
  EXPECT_EQ(text(file({{Rule::hidden_capacity, {1, 2}, "", "less", "known"}})),
            "p.yaml:1:2: note: less [hidden-capacity]\n    fix: known\np.yaml: ok, 1 note\n");
}

TEST(CheckReport, QuietIsOnlyTheFindings) {
  EXPECT_EQ(text(file({}), true), "");
  EXPECT_EQ(text(file({{Rule::no_jitter, {4, 7}, "", "together", "jitter: full"}}), true),
            "p.yaml:4:7: warning: together [no-jitter]\n    fix: jitter: full\n");
}

TEST(CheckReport, CountsBySeverityAndAbove) {
  const FindingCounts counts = count(file({{Rule::unsafe_retries, {}, "", "", ""},
                                           {Rule::no_jitter, {}, "", "", ""},
                                           {Rule::no_budget, {}, "", "", ""},
                                           {Rule::not_as_written, {}, "", "", ""}})
                                         .findings);
  EXPECT_EQ(counts.at_least(Severity::error), 1);
  EXPECT_EQ(counts.at_least(Severity::warning), 3);
  EXPECT_EQ(counts.at_least(Severity::note), 4);
}

TEST(CheckReport, AFileThatDoesNotLoadIsAFinding) {
  const CheckedFile checked = not_loaded("p.yaml", {"p.yaml", {2, 3}, "unknown key"});
  EXPECT_FALSE(checked.loads);
  ASSERT_EQ(checked.findings.size(), 1u);
  EXPECT_EQ(checked.findings[0].rule, Rule::does_not_load);
  EXPECT_EQ(checked.findings[0].place, (config::SourceLocation{2, 3}));
  EXPECT_EQ(checked.findings[0].why, "unknown key");
}

TEST(CheckReport, TheRulesAreListedWithWhatAndWhy) {
  std::ostringstream out;
  print_rules(out);
  for (const std::string_view name : policy::kRuleNames) {
    EXPECT_NE(('\n' + out.str()).find('\n' + std::string(name) + " ("), std::string::npos) << name;
  }
  EXPECT_NE(out.str().find("\nno-jitter (warning)\n    Retries wait without jitter. Those who "
                           "failed together come back together.\n"),
            std::string::npos);
}

}  // namespace
}  // namespace damper::cli
