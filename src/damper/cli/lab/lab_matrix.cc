#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>

#include "damper/cli/commands.h"
#include "damper/cli/lab/lab_files.h"
#include "damper/lab/matrix/matrix.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

struct MatrixCommand {
  lab::MatrixOptions matrix;
  Outputs outputs;
  std::string markdown;
};

// The command line that gives the same matrix.
std::string command_line(const lab::MatrixOptions& options) {
  std::string line = "damper lab matrix";
  const auto add_list = [&](const char* name, const std::vector<std::string>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += i == 0 ? name : ",";
      line += values[i];
    }
  };
  add_list(" --defence ", options.defences);
  add_list(" --trouble ", options.troubles);
  return line + " --runs " + std::to_string(options.runs) + " --seed " +
         std::to_string(options.seed);
}

int play(MatrixCommand& command, const text::Stdio& streams) {
  const run::Interrupt interrupt;
  Expected<lab::HarmMatrix> matrix = [&] {
    Progress progress(streams.err, "runs");
    command.matrix.stop = &run::Interrupt::flag();
    command.matrix.on_progress = [&](std::size_t done, std::size_t of) {
      progress.on_progress(done, of);
    };
    return play_matrix(command.matrix);
  }();
  if (!matrix) {
    streams.err << matrix.error() << '\n';
    return kTrouble;
  }
  matrix->command = command_line(command.matrix);
  matrix->version = DAMPER_VERSION;
  const bool printed = print_all<lab::HarmMatrix>(*matrix, command.outputs, streams,
                                                  {lab::print_matrix_text, lab::print_matrix_html,
                                                   lab::print_matrix_json, lab::print_matrix_csv});
  if (!printed) return kTrouble;
  if (!command.markdown.empty() && !write_output(command.markdown, streams, [&](std::ostream& out) {
        print_matrix_markdown(out, *matrix);
      })) {
    return kTrouble;
  }
  if (matrix->interrupted) return run::kInterrupted;
  return matrix->unexplained() == 0 ? kOk : kBroken;
}

}  // namespace

void add_lab_matrix(CLI::App& lab, const text::Stdio& streams, int& status) {
  const auto options = std::make_shared<MatrixCommand>();
  CLI::App* command = lab.add_subcommand(
      "matrix", "Compare every defence with doing nothing, in every trouble: does it do harm?");
  command->footer(R"(Examples:
  damper lab matrix                                        all cells, 5 seeds each
  damper lab matrix --defence breaker,throttle --trouble down,flapping --runs 20
  damper lab matrix --html matrix.html --json matrix.json

Exit status 1 if a defence does harm without a known reason.
)");
  command->add_option("--runs", options->matrix.runs, "Runs of each cell, each with its own seed.")
      ->capture_default_str();
  command->add_option("--seed", options->matrix.seed, "Seed of the first run.")
      ->capture_default_str();
  command->add_option("--defence", options->matrix.defences, "Only these, separated by commas.")
      ->delimiter(',');
  command->add_option("--trouble", options->matrix.troubles, "Only these, separated by commas.")
      ->delimiter(',');
  command->add_option("--markdown", options->markdown, "Write the page of the guide to this file.");
  add_outputs(*command, options->outputs);
  add_threads(*command, options->matrix.threads);
  command->callback([options, streams, &status] { status = play(*options, streams); });
}

}  // namespace damper::cli
