#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "damper/base/text/words.h"
#include "damper/cli/commands.h"
#include "damper/cli/files.h"
#include "damper/cli/terminal.h"
#include "damper/lab/published/published.h"
#include "damper/lab/published/published_report.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct Options {
  std::string only;
  std::size_t most_runs = 0;  // 0: as many as each result needs
  unsigned threads = 0;
  std::string json;
  std::string csv;
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
    result = lab::reproduce(asked);
  }
  if (result.asked == 0) {
    streams.err << "damper: no published result has " << text::in_quotes(options.only)
                << " in its name; damper lab reproduce without --only shows all\n";
    return kTrouble;
  }
  if (options.json != "-" && options.csv != "-") {
    lab::print_text(streams.out, result, {.colour = wants_colour(streams.out)});
  }
  const auto wanted = [&](const std::string& file,
                          void (*print)(std::ostream&, const lab::Reproduction&)) {
    return file.empty() ||
           write_output(file, streams, [&](std::ostream& out) { print(out, result); });
  };
  const bool json = wanted(options.json, lab::print_json);
  const bool csv = wanted(options.csv, lab::print_csv);
  if (!json || !csv) return kTrouble;
  if (result.interrupted) return run::kInterrupted;
  return result.holds() ? kOk : kBroken;
}

}  // namespace

void add_lab_reproduce(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand(
      "reproduce", "Play the published results: theirs, ours, and whether both agree.");
  command->footer(R"(Examples:
  damper lab reproduce                    all of them, in about two minutes of one core
  damper lab reproduce --only aws         those with this in their name
  damper lab reproduce --runs 20          a quick look: fewer runs, wider intervals
  damper lab reproduce --json - | jq '.rows[] | select(.within | not)'

Exit status: 0 when all are within tolerance, 1 when one is not, 2 for trouble.
)");
  command->add_option("--only", options->only, "Results with this text in their name.");
  command->add_option("--runs", options->most_runs, "At most so many of each; 0 is all it needs.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--threads", options->threads, "At most so many; 0 is one for each core.")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  command->add_option("--json", options->json, "Write all rows as JSON; - is standard output.");
  command->add_option("--csv", options->csv, "Write all rows as CSV; - is standard output.");
  command->callback([options, streams, &status] { status = reproduce(*options, streams); });
}

}  // namespace damper::cli
