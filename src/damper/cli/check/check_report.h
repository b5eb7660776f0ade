#pragma once

#include <array>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "damper/config/error.h"
#include "damper/policy/lint/known_limits.h"
#include "damper/policy/lint/lint.h"

namespace damper::cli {

// What `damper check` has to say about one file.
struct CheckedFile {
  std::string name;                       // as it was given
  std::vector<policy::Finding> findings;  // of a file that does not load: does-not-load alone
  bool loads = true;
  std::vector<policy::KnownLimit> limits{};  // of its defences: no findings, and never counted
};

// How many findings of each severity there are: indexed by policy::Severity.
struct FindingCounts {
  std::array<int, policy::kSeverityNames.size()> of{};
  [[nodiscard]] int at_least(policy::Severity severity) const;
};
[[nodiscard]] FindingCounts count(std::span<const policy::Finding> findings);

// A file that does not load, as a finding.
[[nodiscard]] CheckedFile not_loaded(const std::string& name, const config::Error& error);

// For people: a compiler's lines, FILE:LINE:COLUMN: SEVERITY: ROUTE: why [rule], each with its fix
// on a line of its own; then, unless it is quiet, a line on the file as a whole and the number of
// known limits.
void print_check_text(std::ostream& out, const CheckedFile& file, bool quiet);

// The known limits, in lines as those of findings, each with the page that explains it.
void print_limits_text(std::ostream& out, const CheckedFile& file);

// For programs: one object, {"files": [...], "summary": {...}}.
void print_check_json(std::ostream& out, std::span<const CheckedFile> files);

// For code review: SARIF 2.1.0, with every rule and a result for each finding.
void print_check_sarif(std::ostream& out, std::span<const CheckedFile> files);

// The list of the rules, for people.
void print_rules(std::ostream& out);

}  // namespace damper::cli
