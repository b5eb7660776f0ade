#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "damper/base/text/words.h"
#include "damper/cli/commands.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/lab/published/published.h"
#include "damper/lab/published/published_report.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct Options {
  std::string only;
  std::size_t most_runs = 0;  // 0: as many as each result needs
  unsigned threads = 0;
  bool reverse_ties = false;
  Outputs outputs;  // without HTML
};

int reproduce(const Options& options, const text::Stdio& streams) {
  lab::Reproduction result;
  {
    const run::Interrupt interrupt;
    Progress progress(streams.err, "runs");
    lab::ReproduceOptions asked{
        .only = options.only,
        .threads = options.threads,
        .stop = &run::Interrupt::flag(),
        .on_progress = [&](std::size_t done, std::size_t of) { progress.on_progress(done, of); }};
    if (options.most_runs > 0) asked.most_runs = options.most_runs;
    if (options.reverse_ties) asked.ties = timer::Ties::reversed;
    result = lab::reproduce(asked);
  }
  if (result.asked == 0) {
    streams.err << "damper: no published result has " << text::in_quotes(options.only)
                << " in its name; damper lab reproduce without --only shows all\n";
    return kTrouble;
  }
  if (!print_all<lab::Reproduction>(result, options.outputs, streams,
                                    {lab::print_text, nullptr, lab::print_json, lab::print_csv})) {
    return kTrouble;
  }
  if (result.interrupted) return run::kInterrupted;
  return result.holds() ? kOk : kBroken;
}

}  // namespace

void add_lab_reproduce(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand(
      "reproduce", "Reproduce published results: theirs, ours, and whether they agree.");
  command->footer(R"(Examples:
  damper lab reproduce                    all of them: about two minutes of one core
  damper lab reproduce --only aws         those with this text in their name
  damper lab reproduce --runs 20          faster: fewer runs, wider intervals
  damper lab reproduce --json - | jq '.rows[] | select(.within | not)'

Exit status: 0 if all are within tolerance, 1 if one is not, 2 on error.
)");
  command->add_option("--only", options->only, "Only results with this text in their name.");
  command->add_option("--runs", options->most_runs, "The most runs of each study; 0 is no limit.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--reverse-ties", options->reverse_ties,
                    "Reverse the order of simultaneous events; no result depends on it.");
  add_threads(*command, options->threads);
  command->add_option("--json", options->outputs.json,
                      "Write all rows as JSON; - is standard output.");
  command->add_option("--csv", options->outputs.csv,
                      "Write all rows as CSV; - is standard output.");
  command->callback([options, streams, &status] { status = reproduce(*options, streams); });
}

}  // namespace damper::cli
