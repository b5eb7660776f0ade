// The report of `damper check` for people.
#include "damper/cli/check/check_report.h"

#include <ostream>

namespace damper::cli {

namespace {

// "1 error, 2 warnings"; what there is none of is left out.
std::string counts_text(const FindingCounts& counts) {
  std::string text;
  for (std::size_t i = counts.of.size(); i-- > 0;) {
    if (counts.of[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(counts.of[i]) + ' ' + std::string(policy::kSeverityNames[i]);
    if (counts.of[i] > 1) text += 's';
  }
  return text;
}

}  // namespace

void print_check_text(std::ostream& out, const CheckedFile& file, bool quiet) {
  for (const policy::Finding& finding : file.findings) {
    const std::string route = finding.route.empty() ? "" : finding.route + ": ";
    out << to_string(config::Error{
               file.name, finding.place,
               std::string(name(severity_of(finding.rule))) + ": " + route + finding.why})
        << " [" << name(finding.rule) << "]\n    fix: " << finding.fix << '\n';
  }
  if (quiet) return;
  const FindingCounts counts = count(file.findings);
  const std::string text = counts_text(counts);
  const bool ok = counts.at_least(policy::Severity::warning) == 0;
  out << file.name << ": " << (ok ? "ok" : "") << (ok && !text.empty() ? ", " : "") << text << '\n';
}

void print_rules(std::ostream& out) {
  for (std::size_t i = 0; i < policy::kRuleNames.size(); ++i) {
    const policy::RuleText& text = text_of(static_cast<policy::Rule>(i));
    out << policy::kRuleNames[i] << " (" << name(text.severity) << ")\n    " << text.what << ' '
        << text.why << '\n';
  }
}

}  // namespace damper::cli
