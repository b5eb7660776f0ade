#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/cli/commands.h"
#include "damper/cli/files.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/cli/terminal.h"
#include "damper/lab/report/report.h"
#include "damper/lab/runs/runs.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct Options {
  std::string scenario;
  std::vector<std::string> variants;
  std::vector<std::string> policies;
  std::uint64_t seed = 1;
  int runs = 1;
  unsigned threads = 0;
  Outputs outputs;
};

// What to type for the same report.
std::string command_line(const char* verb, const Options& options) {
  std::string line = std::string("damper lab ") + verb + ' ' + options.scenario;
  for (const std::string& variant : options.variants) line += " --variant " + variant;
  for (const std::string& policy : options.policies) line += " --policy " + policy;
  line += " --seed " + std::to_string(options.seed);
  if (options.runs > 1) line += " --runs " + std::to_string(options.runs);
  return line;
}

// The scenarios to play: the variants, or the first of them under each policy.
Expected<std::vector<lab::Scenario>> choose(const Options& options, const text::Stdio& streams) {
  auto scenarios = load_scenarios(options.scenario, options.variants, streams);
  if (!scenarios || options.policies.empty()) return scenarios;
  std::vector<lab::Scenario> chosen;
  for (const std::string& policy : options.policies) {
    auto changed = under_policy(scenarios->front(), policy);
    if (!changed) return unexpected(changed.error());
    chosen.push_back(std::move(*changed));
  }
  return chosen;
}

bool print_all(const lab::Report& report, const Outputs& outputs, const text::Stdio& streams) {
  if (!outputs.takes_standard_output()) {
    lab::print_text(streams.out, report, {.colour = wants_colour(streams.out)});
  }
  const auto wanted = [&](const std::string& file,
                          void (*print)(std::ostream&, const lab::Report&)) {
    return file.empty() ||
           write_output(file, streams, [&](std::ostream& out) { print(out, report); });
  };
  const bool html = wanted(outputs.html, lab::print_html);
  const bool json = wanted(outputs.json, lab::print_json);
  const bool csv = wanted(outputs.csv, lab::print_csv);
  return html && json && csv;
}

int play(const char* verb, const Options& options, const text::Stdio& streams) {
  const auto scenarios = choose(options, streams);
  if (!scenarios) {
    streams.err << scenarios.error() << '\n';
    return kTrouble;
  }
  lab::Report report;
  report.title = scenarios->front().name;
  report.about = scenarios->front().about;
  report.command = command_line(verb, options);
  report.version = DAMPER_VERSION;
  report.asked_runs = options.runs * static_cast<int>(scenarios->size());
  {
    const run::Interrupt interrupt;
    Progress progress(streams.err, "runs");
    const lab::RunsOptions runs{
        .runs = options.runs,
        .seed = options.seed,
        .threads = options.threads,
        .stop = &run::Interrupt::flag(),
        .on_progress = [&](std::size_t done, std::size_t of) { progress.on_progress(done, of); }};
    if (const auto error = find_error(*scenarios, runs)) {
      streams.err << "damper: " << *error << '\n';
      return kTrouble;
    }
    lab::Runs played = play_all(*scenarios, runs);
    report.sets = std::move(played.sets);
    report.interrupted = played.interrupted;
  }
  for (std::size_t i = 0; i < options.policies.size(); ++i) {
    for (lab::Record& record : report.sets[i].records) record.policy = options.policies[i];
  }
  if (report.sets.front().records.empty()) {
    streams.err << "damper: interrupted before the first run was over\n";
    return run::kInterrupted;
  }
  if (!print_all(report, options.outputs, streams)) return kTrouble;
  if (report.interrupted) return run::kInterrupted;
  const auto promises = lab::check_expectations(report);
  const bool held = std::all_of(promises.begin(), promises.end(),
                                [](const lab::Promise& promise) { return promise.held; });
  return held ? kOk : kBroken;
}

void add_common(CLI::App& command, Options& options) {
  command
      .add_option("SCENARIO", options.scenario,
                  "One that comes with it (damper lab list), or a file; - is standard input.")
      ->required();
  command.add_option("--seed", options.seed, "Of the first run; the others have the next ones.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", options.runs, "With so many seeds: numbers get intervals.")
      ->capture_default_str()
      ->check(CLI::Range(1, lab::kMostRuns));
  command.add_option("--threads", options.threads, "At most so many; 0 is one for each core.")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  add_outputs(command, options.outputs);
}

}  // namespace

void add_lab_run(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand("run", "Play a scenario, all its variants side by side.");
  command->footer(R"(Examples:
  damper lab run storm
  damper lab run storm --policy mine.yaml         under your policy
  damper lab run webhook-herd --variant full --variant none
  damper lab run metastable-db --runs 200 --json - | jq .sets[0].collapsed
  damper lab run mine.yaml --html mine.html

Exit status: 0 when all that the scenario promises held, 1 when something did not, 2 for trouble.
)");
  add_common(*command, *options);
  command->add_option("--variant", options->variants, "Only these; all without.")
      ->allow_extra_args(false);
  command
      ->add_option("--policy", options->policies,
                   "Play the first variant under this policy file instead; `default` is none.")
      ->expected(1);
  command->callback([options, streams, &status] { status = play("run", *options, streams); });
}

void add_lab_compare(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      lab.add_subcommand("compare", "Play one scenario under several policies, same arrivals.");
  command->footer(R"(Examples:
  damper lab compare storm --policy default --policy mine.yaml
  damper lab compare mine.yaml --policy old.yaml --policy new.yaml --runs 50 --html compare.html
)");
  add_common(*command, *options);
  command->add_option("--variant", options->variants, "Of this variant's world; else the first's.")
      ->allow_extra_args(false);
  command
      ->add_option("--policy", options->policies,
                   "A policy file, or `default`; once for each, two or more.")
      ->allow_extra_args(false)
      ->required();
  command->callback([options, streams, &status] {
    if (options->policies.size() < 2) {
      streams.err << "damper: compare takes two policies or more; give --policy twice\n";
      status = kTrouble;
    } else {
      status = play("compare", *options, streams);
    }
  });
}

}  // namespace damper::cli
