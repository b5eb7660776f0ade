// The report of `damper check` as SARIF 2.1.0 (OASIS), which code review tools show in place.
#include "damper/cli/check/check_report.h"

#include <ostream>

#include "damper/base/text/utf8.h"

namespace damper::cli {
namespace {

using text::json_string;

// SARIF's levels are our severities, by the same words.
std::string level(policy::Severity severity) { return json_string(name(severity)); }

// A path as a URI: relative as it was given, or of the scheme file when it is absolute.
std::string uri(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string text = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return text;
}

void print_rule(std::ostream& out, std::size_t index) {
  const policy::RuleText& text = text_of(static_cast<policy::Rule>(index));
  out << "{\"id\":" << json_string(policy::kRuleNames[index])
      << ",\"shortDescription\":{\"text\":" << json_string(text.what)
      << "},\"fullDescription\":{\"text\":"
      << json_string(std::string(text.what) + ' ' + std::string(text.why))
      << "},\"defaultConfiguration\":{\"level\":" << level(text.severity) << "}}";
}

void print_result(std::ostream& out, const CheckedFile& file, const policy::Finding& finding) {
  out << "{\"ruleId\":" << json_string(name(finding.rule))
      << ",\"ruleIndex\":" << static_cast<int>(finding.rule)
      << ",\"level\":" << level(severity_of(finding.rule))
      << ",\"message\":{\"text\":" << json_string(finding.why + ". Fix: " + finding.fix)
      << "},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":"
      << json_string(uri(file.name)) << '}';
  if (finding.place.line > 0) {
    out << ",\"region\":{\"startLine\":" << finding.place.line
        << ",\"startColumn\":" << finding.place.column << '}';
  }
  out << '}';
  if (!finding.route.empty()) {
    out << ",\"logicalLocations\":[{\"name\":" << json_string(finding.route)
        << ",\"kind\":\"resource\"}]";
  }
  out << "}]}";
}

}  // namespace

void print_check_sarif(std::ostream& out, std::span<const CheckedFile> files) {
  out << "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
         "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"damper check\",\"rules\":[";
  for (std::size_t i = 0; i < policy::kRuleNames.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n");
    print_rule(out, i);
  }
  out << "]}},\"results\":[";
  const char* between = "\n";
  for (const CheckedFile& file : files) {
    for (const policy::Finding& finding : file.findings) {
      out << between;
      print_result(out, file, finding);
      between = ",\n";
    }
  }
  out << "]}]}\n";
}

}  // namespace damper::cli
