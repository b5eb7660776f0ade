#include "damper/cli/lab/lab_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/lab/scenario/builtin.h"
#include "damper/lab/scenario/scenario_file.h"
#include "damper/policy/file/policy_file.h"

namespace damper::cli {
namespace {

using Loaded = Expected<std::vector<lab::Scenario>, config::Error>;

// A name without a slash or a dot is a built-in scenario, unless a file has that name.
bool is_file(const std::string& name) {
  if (name.find_first_of("/.") != std::string::npos) return true;
  std::error_code error;
  return lab::find_builtin(name) == nullptr && std::filesystem::exists(name, error);
}

Loaded load(const std::string& name, const text::Stdio& streams) {
  if (name != "-" && !is_file(name)) return lab::load_builtin(name);
  const auto text = read_input(name, streams);
  if (!text) return unexpected(text.error());
  return lab::load_scenario(*text, input_name(name));
}

std::string why_no_variant(const std::vector<lab::Scenario>& scenarios, const std::string& wanted) {
  std::vector<std::string_view> known;
  for (const lab::Scenario& scenario : scenarios) {
    if (!scenario.variant.empty()) known.push_back(scenario.variant);
  }
  if (known.empty()) return "the scenario " + scenarios.front().name + " has no variants";
  return "unknown variant " + text::in_quotes(wanted) + text::suggestion(wanted, known) +
         " (accepted: " + text::joined(known) + ')';
}

}  // namespace

Expected<std::vector<lab::Scenario>> load_scenarios(const std::string& name_or_file,
                                                    const std::vector<std::string>& variants,
                                                    const text::Stdio& streams) {
  Loaded loaded = load(name_or_file, streams);
  if (!loaded) return unexpected(to_string(loaded.error()));
  if (variants.empty()) return std::move(*loaded);
  std::vector<lab::Scenario> chosen;
  for (const std::string& wanted : variants) {
    const auto found =
        std::find_if(loaded->begin(), loaded->end(),
                     [&](const lab::Scenario& scenario) { return scenario.variant == wanted; });
    if (found == loaded->end()) return unexpected(why_no_variant(*loaded, wanted));
    chosen.push_back(*found);
  }
  return chosen;
}

Expected<lab::Scenario> under_policy(const lab::Scenario& scenario, const std::string& policy) {
  lab::Scenario changed = scenario;
  changed.policy = {};
  if (policy == "default") return changed;
  auto file = policy::load_file(policy);
  if (!file) return unexpected(to_string(file.error()));
  changed.policy = std::move(*file);
  for (const lab::ClientsSpec& clients : changed.clients) {
    if (changed.route_for(clients.calls) != nullptr) continue;
    return unexpected(policy + ": has no route for the service " + clients.calls +
                      ", called by the clients " + clients.name);
  }
  return changed;
}

void add_outputs(CLI::App& command, Outputs& outputs) {
  command.add_option("--html", outputs.html, "Write one self-contained page to this file.");
  command.add_option("--json", outputs.json, "Write all data as JSON; - is standard output.");
  command.add_option("--csv", outputs.csv, "Write every number as CSV; - is standard output.");
}

void add_threads(CLI::App& command, unsigned& threads) {
  command.add_option("--threads", threads, "The most threads; 0 is one for each core.")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
}

void add_run_options(CLI::App& command, RunOptions& options, int most_runs) {
  command
      .add_option("SCENARIO", options.scenario,
                  "A built-in scenario (damper lab list) or a file; - is standard input.")
      ->required();
  command.add_option("--seed", options.seed, "The seed of the first run; the next have the next.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", options.runs, "The number of runs, each with a seed of its own.")
      ->capture_default_str()
      ->check(CLI::Range(1, most_runs));
  add_threads(command, options.threads);
  add_outputs(command, options.outputs);
}

}  // namespace damper::cli
