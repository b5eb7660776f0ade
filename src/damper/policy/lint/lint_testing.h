#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/file/policy_file.h"
#include "damper/policy/lint/lint.h"

namespace damper::policy {

inline std::vector<Finding> findings_of(std::string_view text) {
  const auto file = load(text, "p.yaml");
  EXPECT_TRUE(file) << to_string(file.error());
  return file ? lint(*file) : std::vector<Finding>{};
}

// The names of the rules that have something to say, in the order of their places.
inline std::string rules_of(std::string_view text) {
  std::string names;
  for (const Finding& finding : findings_of(text)) {
    if (!names.empty()) names += ' ';
    names += name(finding.rule);
  }
  return names;
}

// All that one rule says about the text: "LINE:COLUMN ROUTE: why | fix", one a line.
inline std::string said_by(Rule rule, std::string_view text) {
  std::string said;
  for (const Finding& finding : findings_of(text)) {
    if (finding.rule != rule) continue;
    if (!said.empty()) said += '\n';
    said += std::to_string(finding.place.line) + ':' + std::to_string(finding.place.column) + ' ' +
            finding.route + ": " + finding.why + " | " + finding.fix;
  }
  return said;
}

}  // namespace damper::policy
