#include "damper/cli/check/check_report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "damper/config/yaml_tree.h"

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

TEST(CheckReport, KnownLimitsAreCountedByReasonAndListedByPlace) {
  CheckedFile checked = file({});
  checked.limits = {{policy::HarmReason::jitter, {3, 5}, "a", "key"},
                    {policy::HarmReason::jitter, {0, 0}, "", "key"}};
  EXPECT_EQ(text(checked),
            "p.yaml: ok\np.yaml: 1 known limit of its defences, see --limits or "
            "docs/guide/harm.md\n");
  EXPECT_EQ(text(checked, true), "");
  std::ostringstream out;
  print_limits_text(out, checked);
  const std::string why(text_of(policy::HarmReason::jitter).text);
  EXPECT_EQ(out.str(), "p.yaml:3:5: limit: a: key: " + why +
                           " [jitter]\n    see: docs/guide/harm.md\np.yaml: limit: key: " + why +
                           " [jitter]\n    see: docs/guide/harm.md\n");
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
  EXPECT_NE(out.str().find("\nno-jitter (warning)\n    Retries wait without jitter. Calls that "
                           "failed together are retried together.\n"),
            std::string::npos);
}

using policy::Rule;

std::string json(const std::vector<CheckedFile>& files) {
  std::ostringstream out;
  print_check_json(out, files);
  return out.str();
}

TEST(CheckJson, IsOneObjectWithAllFilesAndASummary) {
  EXPECT_EQ(
      json({{.name = "a.yaml",
             .findings = {{Rule::no_jitter, {4, 7}, "db", "together", "jitter: full"},
                          {Rule::not_as_written, {5, 1}, "", "else", "leave"}}},
            {.name = "b.yaml",
             .findings = {},
             .limits = {{policy::HarmReason::jitter, {3, 5}, "c", "retries.backoff.jitter"}}},
            not_loaded("c.yaml", {"c.yaml", {1, 1}, "empty"})}),
      R"({"files":[{"file":"a.yaml","loads":true,"findings":[)"
      R"({"rule":"no-jitter","severity":"warning","line":4,"column":7,"route":"db",)"
      R"("why":"together","fix":"jitter: full"},)"
      R"({"rule":"not-as-written","severity":"note","line":5,"column":1,"route":"",)"
      R"("why":"else","fix":"leave"}],"limits":[]},)"
      R"({"file":"b.yaml","loads":true,"findings":[],"limits":[{"reason":"jitter","line":3,)"
      R"("column":5,"route":"c","key":"retries.backoff.jitter","why":"With full jitter the )"
      R"(mean wait is half of that without jitter, so a broken key runs about twice as often )"
      R"(at the same cap: 1 % of all runs.","see":"docs/guide/harm.md"}]},)"
      R"({"file":"c.yaml","loads":false,"findings":[{"rule":"does-not-load",)"
      R"("severity":"error","line":1,"column":1,"route":"","why":"empty",)"
      R"("fix":"mend it as the sentence says"}],"limits":[]}],)"
      R"("summary":{"files":3,"errors":1,"warnings":1,"notes":1}})"
      "\n");
  EXPECT_EQ(json({}),
            "{\"files\":[],\"summary\":{\"files\":0,\"errors\":0,\"warnings\":0,\"notes\":0}}\n");
}

// JSON is YAML, so that our own parser can read it back.
TEST(CheckJson, WhateverIsInItItIsJson) {
  const std::string hostile = "\"}],\n\x1b[2J\\ \xff\xfe \xe2\x80\xae";
  const auto tree = config::parse_yaml(
      json({{.name = hostile, .findings = {{Rule::no_budget, {1, 1}, hostile, hostile, hostile}}}}),
      "out.json");
  ASSERT_TRUE(tree) << to_string(tree.error());
  const config::Tree& finding = tree->value(0).items[0].value(2).items[0];
  ASSERT_EQ(finding.pairs(), 7u);
  EXPECT_EQ(finding.key(5).text, "why");
  EXPECT_TRUE(finding.value(5).text.starts_with("\"}],\n\x1b[2J\\ "));
}

using config::Tree;
using policy::Rule;

std::string sarif(const std::vector<CheckedFile>& files) {
  std::ostringstream out;
  print_check_sarif(out, files);
  return out.str();
}

// The value of a key of a map; a null tree when there is none.
const Tree& at(const Tree& map, std::string_view key) {
  static const Tree kNone;
  for (std::size_t i = 0; i < map.pairs(); ++i) {
    if (map.key(i).text == key) return map.value(i);
  }
  return kNone;
}

TEST(CheckSarif, AResultHasItsRuleLevelMessageAndPlace) {
  const std::string text =
      sarif({{.name = "etc/damper.yaml",
              .findings = {{Rule::no_jitter, {4, 7}, "db", "together", "jitter: full"}}}});
  EXPECT_NE(
      text.find(R"("results":[)"
                "\n"
                R"({"ruleId":"no-jitter","ruleIndex":10,"level":"warning",)"
                R"("message":{"text":"together. Fix: jitter: full"},)"
                R"("locations":[{"physicalLocation":{"artifactLocation":{"uri":"etc/damper.yaml"},)"
                R"("region":{"startLine":4,"startColumn":7}},)"
                R"("logicalLocations":[{"name":"db","kind":"resource"}]}]}]}]})"
                "\n"),
      std::string::npos)
      << text;
}

TEST(CheckSarif, TheDriverHasEveryRuleAtItsIndex) {
  const auto tree = config::parse_yaml(sarif({}), "out.sarif");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(at(*tree, "version").text, "2.1.0");
  const Tree& run = at(*tree, "runs").items.at(0);
  const Tree& driver = at(at(run, "tool"), "driver");
  EXPECT_EQ(at(driver, "name").text, "damper check");
  const Tree& rules = at(driver, "rules");
  ASSERT_EQ(rules.items.size(), policy::kRuleNames.size());
  for (std::size_t i = 0; i < rules.items.size(); ++i) {
    const policy::RuleText& text = text_of(static_cast<Rule>(i));
    EXPECT_EQ(at(rules.items[i], "id").text, policy::kRuleNames[i]);
    EXPECT_EQ(at(at(rules.items[i], "shortDescription"), "text").text, text.what);
    EXPECT_EQ(at(at(rules.items[i], "defaultConfiguration"), "level").text, name(text.severity));
  }
  EXPECT_EQ(at(run, "results").kind, Tree::Kind::sequence);
  EXPECT_EQ(at(run, "results").items.size(), 0u);
}

// A region begins in line 1 or is not there.
TEST(CheckSarif, AFindingAboutTheWholeFileHasNoRegion) {
  const std::string text = sarif({not_loaded("p.yaml", {"p.yaml", {}, "cannot be read"})});
  EXPECT_EQ(text.find("region"), std::string::npos);
  EXPECT_EQ(text.find("logicalLocations"), std::string::npos);
  EXPECT_NE(text.find(R"({"uri":"p.yaml"}}}]}]}]})"), std::string::npos) << text;
}

TEST(CheckSarif, APathIsAUri) {
  const auto uri_of = [](const std::string& name) {
    const std::string text = sarif({not_loaded(name, {name, {}, ""})});
    const std::size_t start = text.find("\"uri\":\"") + 7;
    return text.substr(start, text.find('"', start) - start);
  };
  EXPECT_EQ(uri_of("a/b-c_d.~1.yaml"), "a/b-c_d.~1.yaml");
  EXPECT_EQ(uri_of("my policy:1%.yaml"), "my%20policy%3A1%25.yaml");
  EXPECT_EQ(uri_of("/etc/p.yaml"), "file:///etc/p.yaml");
  EXPECT_EQ(uri_of("\xff\"\n"), "%FF%22%0A");
}

TEST(CheckSarif, WhateverIsInItItIsJson) {
  const std::string hostile = "\"}],\n\x1b[2J\\ \xff \xe2\x80\xae";
  const auto tree =
      config::parse_yaml(sarif({{.name = hostile,
                                 .findings = {{Rule::no_budget, {1, 1}, hostile, hostile, hostile},
                                              {Rule::no_budget, {1, 1}, "", "second", "fix"}}}}),
                         "out.sarif");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(at(at(*tree, "runs").items.at(0), "results").items.size(), 2u);
}

}  // namespace

}  // namespace damper::cli
