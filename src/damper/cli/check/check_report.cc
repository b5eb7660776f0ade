#include "damper/cli/check/check_report.h"

#include <ostream>

#include "damper/base/text/utf8.h"

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

using text::json_string;

void print_finding(std::ostream& out, const policy::Finding& finding) {
  out << "{\"rule\":" << json_string(name(finding.rule))
      << ",\"severity\":" << json_string(name(severity_of(finding.rule)))
      << ",\"line\":" << finding.place.line << ",\"column\":" << finding.place.column
      << ",\"route\":" << json_string(finding.route) << ",\"why\":" << json_string(finding.why)
      << ",\"fix\":" << json_string(finding.fix) << '}';
}

void print_limit(std::ostream& out, const policy::KnownLimit& limit) {
  out << "{\"reason\":" << json_string(name(limit.reason)) << ",\"line\":" << limit.place.line
      << ",\"column\":" << limit.place.column << ",\"route\":" << json_string(limit.route)
      << ",\"key\":" << json_string(limit.key)
      << ",\"why\":" << json_string(policy::text_of(limit.reason).text)
      << ",\"see\":" << json_string(policy::kHarmPage) << '}';
}

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
  const int limits = policy::count_reasons(file.limits);
  if (limits == 0) return;
  out << file.name << ": " << limits << " known limit" << (limits == 1 ? "" : "s")
      << " of its defences, see --limits or " << policy::kHarmPage << '\n';
}

void print_limits_text(std::ostream& out, const CheckedFile& file) {
  for (const policy::KnownLimit& limit : file.limits) {
    const std::string route = limit.route.empty() ? "" : limit.route + ": ";
    const std::string_view why = policy::text_of(limit.reason).text;
    out << to_string(config::Error{file.name, limit.place,
                                   "limit: " + route + limit.key + ": " + std::string(why)})
        << " [" << name(limit.reason) << "]\n    see: " << policy::kHarmPage << '\n';
  }
}

void print_rules(std::ostream& out) {
  for (std::size_t i = 0; i < policy::kRuleNames.size(); ++i) {
    const policy::RuleText& text = text_of(static_cast<policy::Rule>(i));
    out << policy::kRuleNames[i] << " (" << name(text.severity) << ")\n    " << text.what << ' '
        << text.why << '\n';
  }
}

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
    out << "],\"limits\":[";
    between = "";
    for (const policy::KnownLimit& limit : file.limits) {
      out << between;
      print_limit(out, limit);
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
