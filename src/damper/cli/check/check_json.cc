// The report of `damper check` for programs.
#include "damper/cli/check/check_report.h"

#include <ostream>

#include "damper/base/text/utf8.h"

namespace damper::cli {
namespace {

using text::json_string;

void print_finding(std::ostream& out, const policy::Finding& finding) {
  out << "{\"rule\":" << json_string(name(finding.rule))
      << ",\"severity\":" << json_string(name(severity_of(finding.rule)))
      << ",\"line\":" << finding.place.line << ",\"column\":" << finding.place.column
      << ",\"route\":" << json_string(finding.route) << ",\"why\":" << json_string(finding.why)
      << ",\"fix\":" << json_string(finding.fix) << '}';
}

}  // namespace

void print_check_json(std::ostream& out, std::span<const CheckedFile> files) {
  FindingCounts sum;
  out << "{\"files\":[";
  const char* between_files = "";
  for (const CheckedFile& file : files) {
    out << between_files << "{\"file\":" << json_string(file.name)
        << ",\"loads\":" << (file.loads ? "true" : "false") << ",\"findings\":[";
    const char* between = "";
    for (const policy::Finding& finding : file.findings) {
      out << between;
      print_finding(out, finding);
      between = ",";
    }
    out << "]}";
    between_files = ",";
    const FindingCounts counts = count(file.findings);
    for (std::size_t i = 0; i < sum.of.size(); ++i) sum.of[i] += counts.of[i];
  }
  out << "],\"summary\":{\"files\":" << files.size();
  for (std::size_t i = sum.of.size(); i-- > 0;) {
    out << ",\"" << policy::kSeverityNames[i] << "s\":" << sum.of[i];
  }
  out << "}}\n";
}

}  // namespace damper::cli
