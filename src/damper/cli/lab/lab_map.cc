#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "damper/base/text/plain_text.h"
#include "damper/cli/commands.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/lab/report/map_report.h"
#include "damper/lab/runs/map.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct Options : RunOptions {
  std::string variant;
  std::string policy;
  std::vector<double> loads;
  std::vector<double> triggers;
  int border_runs = lab::MapOptions{}.border_runs;
};

Expected<lab::Scenario> choose(const Options& options, const text::Stdio& streams) {
  std::vector<std::string> variants;
  if (!options.variant.empty()) variants.push_back(options.variant);
  const auto scenarios = load_scenarios(options.scenario, variants, streams);
  if (!scenarios) return unexpected(scenarios.error());
  lab::Scenario chosen = scenarios->front();
  if (!options.policy.empty()) {
    auto changed = under_policy(chosen, options.policy);
    if (!changed) return changed;
    chosen = std::move(*changed);
  }
  if (!options.loads.empty()) chosen.map.loads = options.loads;
  if (!options.triggers.empty()) chosen.map.triggers = options.triggers;
  if (const auto error = find_map_error(chosen)) return unexpected(to_string(*error));
  return chosen;
}

// The command line that gives the same map.
std::string command_line(const Options& options) {
  std::string line = "damper lab map " + options.scenario;
  if (!options.variant.empty()) line += " --variant " + options.variant;
  if (!options.policy.empty()) line += " --policy " + options.policy;
  const auto add_list = [&](const char* name, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += i == 0 ? name : ",";
      line += text::for_programs(values[i], "");
    }
  };
  add_list(" --load ", options.loads);
  add_list(" --trigger ", options.triggers);
  line += " --runs " + std::to_string(options.runs);
  if (options.border_runs != lab::MapOptions{}.border_runs) {
    line += " --border-runs " + std::to_string(options.border_runs);
  }
  return line + " --seed " + std::to_string(options.seed);
}

int draw(const Options& options, const text::Stdio& streams) {
  const auto scenario = choose(options, streams);
  if (!scenario) {
    streams.err << scenario.error() << '\n';
    return kTrouble;
  }
  lab::MapResult map;
  {
    const run::Interrupt interrupt;
    Progress progress(streams.err, "runs");
    map = draw_map(*scenario, {.runs = options.runs,
                               .border_runs = options.border_runs,
                               .seed = options.seed,
                               .threads = options.threads,
                               .stop = &run::Interrupt::flag(),
                               .on_progress = [&](std::size_t done, std::size_t of) {
                                 progress.on_progress(done, of);
                               }});
  }
  map.command = command_line(options);
  map.version = DAMPER_VERSION;
  if (!print_all<lab::MapResult>(
          map, options.outputs, streams,
          {lab::print_map_text, lab::print_map_html, lab::print_map_json, lab::print_map_csv})) {
    return kTrouble;
  }
  return map.interrupted ? run::kInterrupted : kOk;
}

}  // namespace

void add_lab_map(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand(
      "map", "Sweep load against the size of the trigger: where runs collapse, and how often.");
  command->footer(R"(Examples:
  damper lab map metastable-db                              the sweep of the scenario
  damper lab map metastable-db --variant damper --html map.html
  damper lab map mine.yaml --policy new.yaml --load 100,150,200 --trigger 1,5,20 --runs 50

The load is the rate of the scenario's first clients, in requests per second. The trigger is its
first fault: seconds of an outage, or the amount of a slowdown, a spike or a capacity cut. Each
point has --runs runs. For the largest trigger the border is searched with more of them: the highest
load at which P(collapse) is under 5 %, and the lowest at which it is over 95 %.
)");
  options->runs = 10;
  add_run_options(*command, *options, 10'000);
  command
      ->add_option("--border-runs", options->border_runs,
                   "Most runs for the border of the largest trigger; 0: no search.")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--variant", options->variant, "Map this variant; the default is the first.");
  command->add_option("--policy", options->policy,
                      "Play under this policy file; `default` is the built-in one.");
  command->add_option("--load", options->loads, "Requests per second, separated by commas.")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command->add_option("--trigger", options->triggers, "Sizes of the trigger, separated by commas.")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  command->callback([options, streams, &status] { status = draw(*options, streams); });
}

}  // namespace damper::cli
