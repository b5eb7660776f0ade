#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "damper/cli/check/check_report.h"
#include "damper/config/yaml_tree.h"

namespace damper::cli {
namespace {

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
