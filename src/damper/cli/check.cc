#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/cli/check/check_report.h"
#include "damper/cli/check/check_subject.h"
#include "damper/cli/files.h"
#include "damper/policy/import/import.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper check damper.yaml                        lint a retry policy
  damper check --fail-on warning *.yaml           fail on warnings too, for CI
  damper check --format sarif damper.yaml         for code review tools; json for programs
  damper check --effective damper.yaml > all.yaml the policy with all defaults, as a policy file
  damper check --from envoy envoy.yaml            lint another system's configuration
  damper check webhooks.yaml                      lint the file of damper webhooks serve
  damper check metastable-db                      lint a lab scenario, with its rates and latencies
  damper check --limits damper.yaml               the troubles in which its defences do harm
  damper check --rules                            list the rules
  generate-policy | damper check -                read standard input

Exit status: 0 no finding is as severe as --fail-on, 1 at least one is, 2 a file does not load.
)";

constexpr std::array<std::string_view, 3> kFormats = {"text", "json", "sarif"};

struct Options {
  std::vector<std::string> files;
  std::string format = "text";
  std::string fail_on = "error";
  std::string from;
  bool quiet = false;
  bool effective = false;
  bool rules = false;
  bool limits = false;
};

// The findings of a file, and its effective policy if it loads.
struct Checked {
  CheckedFile report;
  std::string effective;
};

Checked check(const std::string& given, const Options& options, const text::Stdio& streams) {
  auto subject = load_subject(given, policy::kFromNames.find(options.from), streams);
  if (!subject) return {not_loaded(input_name(given), subject.error()), ""};
  return {{.name = std::move(subject->name),
           .findings = std::move(subject->findings),
           .limits = std::move(subject->limits)},
          std::move(subject->effective)};
}

void print_text(const Options& options, const Checked& checked, const text::Stdio& streams) {
  // With --effective, standard output is a policy file.
  std::ostream& out = options.effective ? streams.err : streams.out;
  print_check_text(out, checked.report, options.quiet || options.effective);
  if (options.limits) print_limits_text(out, checked.report);
  if (options.effective) streams.out << checked.effective;
}

int run_check(const Options& options, const text::Stdio& streams) {
  if (options.rules) {
    print_rules(streams.out);
    return kOk;
  }
  const policy::Severity least = policy::kSeverityNames.find(options.fail_on).value();
  int status = kOk;
  std::vector<CheckedFile> reports;
  for (const std::string& name : options.files) {
    const Checked checked = check(name, options, streams);
    if (!checked.report.loads) {  // One sentence on standard error.
      const policy::Finding& why = checked.report.findings.front();
      streams.err << to_string(config::Error{checked.report.name, why.place, why.why}) << '\n';
    } else if (options.format == "text") {
      print_text(options, checked, streams);
    }
    const bool found = count(checked.report.findings).at_least(least) > 0;
    status = std::max(status, !checked.report.loads ? kTrouble : found ? kFound : kOk);
    reports.push_back(checked.report);
  }
  if (options.format == "json") print_check_json(streams.out, reports);
  if (options.format == "sarif") print_check_sarif(streams.out, reports);
  return status;
}

}  // namespace

void add_check(CLI::App& app, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Lint retry policies.");
  command->footer(kExamples);
  CLI::Option* files = command->add_option(
      "FILE", options->files, "Policy files or lab scenarios; - reads standard input.");
  command
      ->add_option("--from", options->from,
                   "The files' format: envoy, grpc, istio or linkerd (default: a damper policy).")
      ->check(one_of(policy::kFromNames))
      ->type_name("SYSTEM");
  CLI::Option* format =
      command->add_option("--format", options->format, "text (the default), json or sarif.")
          ->check(one_of(kFormats))
          ->type_name("FORMAT");
  command
      ->add_option("--fail-on", options->fail_on,
                   "The lowest severity that sets exit status 1: error (the default), warning or "
                   "note.")
      ->check(one_of(policy::kSeverityNames))
      ->type_name("SEVERITY");
  command->add_flag("-q,--quiet", options->quiet,
                    "Print findings only; print nothing for a file without findings.");
  command
      ->add_flag("--effective", options->effective,
                 "Print the policy with all defaults as a policy file; print findings on standard "
                 "error.")
      ->excludes(format);
  command->add_flag("--limits", options->limits,
                    "Print the known limits of the defences in use, too; they are no findings.");
  command->add_flag("--rules", options->rules, "List the rules with their reasons.")
      ->excludes(files);
  command->callback([options, streams, &status] {
    if (options->files.empty() && !options->rules) throw CLI::RequiredError("FILE");
    status = run_check(*options, streams);
  });
}

}  // namespace damper::cli
