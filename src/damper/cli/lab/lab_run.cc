#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "damper/cli/commands.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/lab/report/report.h"
#include "damper/lab/runs/runs.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct Options : RunOptions {
  std::vector<std::string> variants;
  std::vector<std::string> policies;
};

// The command line that gives the same report.
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
    streams.err << "damper: interrupted before the first run ended\n";
    return run::kInterrupted;
  }
  if (!print_all<lab::Report>(
          report, options.outputs, streams,
          {lab::print_text, lab::print_html, lab::print_json, lab::print_csv})) {
    return kTrouble;
  }
  if (report.interrupted) return run::kInterrupted;
  const auto promises = lab::check_expectations(report);
  const bool held = std::all_of(promises.begin(), promises.end(),
                                [](const lab::Promise& promise) { return promise.held; });
  return held ? kOk : kBroken;
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

Exit status: 0 if all promises of the scenario held, 1 if one did not, 2 on error.
)");
  add_run_options(*command, *options, lab::kMostRuns);
  command
      ->add_option("--variant", options->variants,
                   "Play only this variant; may be repeated. The default is all.")
      ->allow_extra_args(false);
  command
      ->add_option("--policy", options->policies,
                   "Play the first variant under this policy file; `default` is the built-in one.")
      ->expected(1);
  command->callback([options, streams, &status] { status = play("run", *options, streams); });
}

void add_lab_compare(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand(
      "compare", "Play one scenario under several policies, with the same arrivals.");
  command->footer(R"(Examples:
  damper lab compare storm --policy default --policy mine.yaml
  damper lab compare mine.yaml --policy old.yaml --policy new.yaml --runs 50 --html compare.html
)");
  add_run_options(*command, *options, lab::kMostRuns);
  command
      ->add_option("--variant", options->variants, "Play this variant; the default is the first.")
      ->allow_extra_args(false);
  command
      ->add_option("--policy", options->policies,
                   "A policy file, or `default`; give it two or more times.")
      ->allow_extra_args(false)
      ->required();
  command->callback([options, streams, &status] {
    if (options->policies.size() < 2) {
      streams.err << "damper: compare has " << options->policies.size()
                  << " policy; it needs at least 2: give --policy again\n";
      status = kTrouble;
    } else {
      status = play("compare", *options, streams);
    }
  });
}

}  // namespace damper::cli
