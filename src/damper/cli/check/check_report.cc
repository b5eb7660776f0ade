#include "damper/cli/check/check_report.h"

namespace damper::cli {

using policy::Severity;

int FindingCounts::at_least(Severity severity) const {
  int sum = 0;
  for (auto i = static_cast<std::size_t>(severity); i < of.size(); ++i) sum += of[i];
  return sum;
}

FindingCounts count(std::span<const policy::Finding> findings) {
  FindingCounts counts;
  for (const policy::Finding& finding : findings) {
    ++counts.of[static_cast<std::size_t>(severity_of(finding.rule))];
  }
  return counts;
}

CheckedFile not_loaded(const std::string& name, const config::Error& error) {
  return {.name = name,
          .findings = {{policy::Rule::does_not_load, error.place, "", error.sentence,
                        "mend it as the sentence says"}},
          .loads = false};
}

}  // namespace damper::cli
