#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "damper/cli/check/check_report.h"
#include "damper/config/yaml_tree.h"

namespace damper::cli {
namespace {

using policy::Rule;

std::string json(const std::vector<CheckedFile>& files) {
  std::ostringstream out;
  print_check_json(out, files);
  return out.str();
}

TEST(CheckJson, IsOneObjectWithAllFilesAndASummary) {
  EXPECT_EQ(json({{.name = "a.yaml",
                   .findings = {{Rule::no_jitter, {4, 7}, "db", "together", "jitter: full"},
                                {Rule::not_as_written, {5, 1}, "", "else", "leave"}}},
                  {.name = "b.yaml", .findings = {}},
                  not_loaded("c.yaml", {"c.yaml", {1, 1}, "empty"})}),
            R"({"files":[{"file":"a.yaml","loads":true,"findings":[)"
            R"({"rule":"no-jitter","severity":"warning","line":4,"column":7,"route":"db",)"
            R"("why":"together","fix":"jitter: full"},)"
            R"({"rule":"not-as-written","severity":"note","line":5,"column":1,"route":"",)"
            R"("why":"else","fix":"leave"}]},)"
            R"({"file":"b.yaml","loads":true,"findings":[]},)"
            R"({"file":"c.yaml","loads":false,"findings":[{"rule":"does-not-load",)"
            R"("severity":"error","line":1,"column":1,"route":"","why":"empty",)"
            R"("fix":"mend it as the sentence says"}]}],)"
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

}  // namespace
}  // namespace damper::cli
